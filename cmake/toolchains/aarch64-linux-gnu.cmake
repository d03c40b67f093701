# 64-bit Arm Linux on Debian's cross compiler (gcc-aarch64-linux-gnu); programs run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# FIDIBUS_QEMU_CPU: what the emulated processor can do, for instance "max,sve=off". Checking signed pointers would take half the time.
set(FIDIBUS_QEMU_CPU "max,pauth=off" CACHE STRING "processor for qemu-aarch64 -cpu")
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-aarch64;-cpu;${FIDIBUS_QEMU_CPU};-L;/usr/aarch64-linux-gnu")
# Packages of the target: Debian's :arm64 development packages, where they are installed.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig)

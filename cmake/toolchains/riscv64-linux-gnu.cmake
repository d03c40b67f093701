# 64-bit RISC-V Linux on clang (the vector tables need it) with Debian's cross gcc for libraries and linking (clang-16
# gcc-riscv64-linux-gnu); programs run under qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER clang-16)
set(CMAKE_C_COMPILER_TARGET riscv64-linux-gnu)
set(CMAKE_C_FLAGS_INIT "-isystem /usr/riscv64-linux-gnu/include")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L/usr/riscv64-linux-gnu/lib")
set(CMAKE_AR riscv64-linux-gnu-ar)
set(CMAKE_RANLIB riscv64-linux-gnu-ranlib)
set(CMAKE_FIND_ROOT_PATH /usr/riscv64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
# FIDIBUS_QEMU_CPU: what the emulated processor can do; "rv64" alone has no vectors.
set(FIDIBUS_QEMU_CPU "rv64,v=true,vlen=256,vext_spec=v1.0" CACHE STRING "processor for qemu-riscv64 -cpu")
set(CMAKE_CROSSCOMPILING_EMULATOR "qemu-riscv64;-cpu;${FIDIBUS_QEMU_CPU};-L;/usr/riscv64-linux-gnu")
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/riscv64-linux-gnu/pkgconfig)

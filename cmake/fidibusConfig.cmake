# find_package(fidibus): the target fidibus::fidibus, and fidibus_embed().
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include(${CMAKE_CURRENT_LIST_DIR}/fidibusTargets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/fidibusEmbed.cmake)

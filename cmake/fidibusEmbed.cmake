# fidibus_embed(TARGET FILE SYMBOL): FILE becomes `const unsigned char SYMBOL[]`, aligned to 64 bytes, and `const size_t SYMBOL_size`,
# in TARGET. On a microcontroller they lie in flash, and fid_program_open_memory uses them in place.
function(fidibus_embed target file symbol)
  get_filename_component(file ${file} ABSOLUTE)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${symbol}.c)
  file(READ ${file} bytes HEX)
  string(LENGTH "${bytes}" digits)
  math(EXPR size "${digits} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  file(WRITE ${source}.new "#include <stddef.h>\n\nextern const unsigned char ${symbol}[];\nextern const size_t ${symbol}_size;\n"
    "const unsigned char ${symbol}[] __attribute__((aligned(64))) = {\n${bytes}\n};\nconst size_t ${symbol}_size = ${size};\n")
  file(COPY_FILE ${source}.new ${source} ONLY_IF_DIFFERENT)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  target_sources(${target} PRIVATE ${source})
endfunction()

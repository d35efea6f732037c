# cmake -D LIST=FILE -D OUTPUT=FILE -P embed_kernels.cmake: the kernels named in LIST as constants in a C file.
# Byte arrays, since a C compiler need not take string literals above 4095 characters.
file(STRINGS "${LIST}" kernels)
list(SORT kernels)
set(text "/* Made from src/kernels by cmake/embed_kernels.cmake. */\n#include <codegen/embedded.h>\n#include <string.h>\n\n")
set(rows "")
foreach(kernel IN LISTS kernels)
  get_filename_component(name "${kernel}" NAME_WE)
  file(READ "${kernel}" hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR length "${digits} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  # 20 bytes a line.
  string(REPEAT "....." 20 line)
  string(REGEX REPLACE "(${line})" "\\1\n    " bytes "${bytes}")
  string(APPEND text "static const unsigned char text_${name}[] = {\n    ${bytes}0x00};\n\n")
  string(APPEND rows "    {\"${name}\", (const char *)text_${name}, ${length}},\n")
endforeach()
string(APPEND text "static const gc_kernel_source sources[] = {\n${rows}    {NULL, NULL, 0},\n};\n\n")
string(APPEND text "const gc_kernel_source *gc_kernel_source_find(const char *name) {
    for (const gc_kernel_source *source = sources; source->name != NULL; source++)
        if (strcmp(source->name, name) == 0)
            return source;
    return NULL;
}
")
file(WRITE "${OUTPUT}" "${text}")

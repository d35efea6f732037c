/* Placeholder of the example program: says which library it runs with. */
#include <gpuchar/gpuchar.h>
#include <stdio.h>

int main(void) {
    printf("libgpuchar %s\n", gpuchar_version());
    return 0;
}

/* host.c - loads a shared object that is linked with the library, as Realm loads its network
 * modules; calls its realm_main, and unloads it before the process ends.  For module.sh. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(int, char **) = module ? (int (*)(int, char **))dlsym(module, "realm_main") : NULL;
    if (!run) {
        fprintf(stderr, "# %s: %s\n", argc > 1 ? argv[1] : "host",
                module ? "no realm_main" : dlerror());
        return 5;
    }
    const int status = run(argc - 1, argv + 1);
    if (dlclose(module)) return 6;
    return status;
}

/* help_env.c - empty text for --help-env, until the library's own table of parameters is linked
 * in its place (hence weak). */
extern const char gasnetrun_help_env[];
__attribute__((weak)) const char gasnetrun_help_env[] = "";

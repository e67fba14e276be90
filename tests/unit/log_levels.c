/* log_levels.c - the value of GASNET_LOG: levels of all components and of single ones. */
#include <stdio.h>
#include <string.h>

#include "core/log.h"
#include "tests/unit/check.h"

static gasneti_log_levels_t parsed(const char *text)
{
    gasneti_log_levels_t levels;
    char why[300] = "";
    memset(&levels, 77, sizeof levels);
    check(gasneti_log_parse(text, &levels, why, sizeof why), "\"%s\" is a value", text);
    return levels;
}

static void all_are(const char *text, enum gasneti_log_level level)
{
    const gasneti_log_levels_t levels = parsed(text);
    int wrong = levels.general != level;
    for (int i = 0; i < GASNETI_LOG_COUNT; i++) wrong += levels.of[i] != level;
    check(wrong == 0, "\"%s\" is level %d of all", text, (int)level);
}

static void refused(const char *text, const char *word)
{
    gasneti_log_levels_t levels, before;
    char why[300] = "", quoted[60];
    memset(&levels, 77, sizeof levels);
    before = levels;
    snprintf(quoted, sizeof quoted, "\"%s\" is neither", word);
    check(!gasneti_log_parse(text, &levels, why, sizeof why) && strstr(why, quoted),
          "\"%s\" is refused: %s", text, why);
    check(!memcmp(&levels, &before, sizeof levels), "\"%s\" changes nothing", text);
}

int main(int argc, char **argv)
{
    check_begin(argc, argv);
    all_are("", GASNETI_LOG_WARN);
    all_are("error", GASNETI_LOG_ERROR);
    all_are("INFO", GASNETI_LOG_INFO);
    all_are("exit:error,debug", GASNETI_LOG_DEBUG);
    gasneti_log_levels_t levels = parsed("info,coll:debug,exit:error,coll:warn");
    check(levels.of[GASNETI_LOG_coll] == GASNETI_LOG_WARN &&
              levels.of[GASNETI_LOG_exit] == GASNETI_LOG_ERROR &&
              levels.of[GASNETI_LOG_job] == GASNETI_LOG_INFO && levels.general == GASNETI_LOG_INFO,
          "the last word of a component counts");
    levels = parsed("memory:debug");
    check(levels.of[GASNETI_LOG_memory] == GASNETI_LOG_DEBUG && levels.general == GASNETI_LOG_WARN,
          "a component alone leaves the others at warn");
    refused("loud", "loud");
    refused("debug,inf", "inf");
    refused("debugs", "debugs");
    refused("exit:", "exit:");
    refused(":debug", ":debug");
    refused("exit:debug:info", "exit:debug:info");
    refused(",", "");
    refused("debug,,info", "");
    char name[400], why[40];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = 0;
    check(!gasneti_log_check(name, why, sizeof why) && strlen(why) < sizeof why,
          "a long word, and little room for the reason");
    return check_end();
}

/* chart.c - line charts as SVG inside a page of HTML; see chart.h. */
#include "tests/sim/chart.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 860, HEIGHT = 240, LEFT = 60, BOTTOM = 24, TOP = 10 };

static struct {
    FILE *file;
    const char *name;
} page;

/* Ten hues that stay apart on white and on black. */
static const char *const colours[] = {"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee",
                                      "#aa3377", "#999999", "#ee8866", "#44bb99", "#8866cc"};
enum { COLOURS = sizeof colours / sizeof *colours };

static void refuse(void)
{
    fprintf(stderr, "%s cannot be written: %s\n", page.name, strerror(errno));
    exit(1);
}

void chart_begin(const char *file, const char *title)
{
    page.name = file;
    page.file = fopen(file, "w");
    if (!page.file) refuse();
    fprintf(page.file,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>%s</title>\n"
            "<style>\n"
            ":root { color-scheme: light dark; }\n"
            "body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto;"
            " padding: 0 1rem; }\n"
            "figure { margin: 1rem 0 2rem; }\nfigcaption { margin-bottom: .3rem; }\n"
            "svg { width: 100%%; height: auto; }\n"
            "svg text { font-size: 12px; fill: currentColor; }\n"
            "polyline { fill: none; stroke-width: 1.5; }\n"
            ".axis { stroke: currentColor; opacity: .3; }\n"
            ".legend span { white-space: nowrap; margin-right: 1em; }\n"
            "table { border-collapse: collapse; }\ntd, th { padding: .1rem .6rem; }\n"
            "td + td { text-align: right; }\ntr + tr { border-top: 1px solid #8888; }\n"
            "</style>\n<h1>%s</h1>\n",
            title, title);
}

void chart_text(const char *tag, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(page.file, "<%s>", tag);
    vfprintf(page.file, format, arguments);
    fprintf(page.file, "</%s>\n", tag);
    va_end(arguments);
}

void chart_open(const char *tag)
{
    fprintf(page.file, "<%s>\n", tag);
}

void chart_close(const char *tag)
{
    fprintf(page.file, "</%s>\n", tag);
}

static double highest(const chart_line_t *lines, size_t count, size_t points)
{
    double most = 1;
    for (size_t i = 0; i < count; i++)
        for (size_t p = 0; p < points; p++)
            if (lines[i].y[p] > most) most = lines[i].y[p];
    return most;
}

void chart_draw(const char *caption, const chart_line_t *lines, size_t count, size_t points)
{
    double most = highest(lines, count, points);
    double tall = HEIGHT - TOP - BOTTOM, wide = WIDTH - LEFT;
    fprintf(page.file,
            "<figure><figcaption>%s</figcaption>\n<svg viewBox=\"0 0 %d %d\" role=\"img\">\n",
            caption, WIDTH, HEIGHT);
    for (int i = 0; i <= 4; i++) {
        double y = TOP + tall * (4 - i) / 4;
        fprintf(page.file,
                "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>"
                "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.0f</text>\n",
                LEFT, WIDTH, y, y, LEFT - 6, y + 4, most * i / 4);
    }
    fprintf(page.file, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">100 %%</text>\n", WIDTH,
            HEIGHT - 6);
    for (size_t i = 0; i < count; i++) {
        fprintf(page.file, "<polyline stroke=\"%s\" points=\"", colours[i % COLOURS]);
        for (size_t p = 0; p < points; p++)
            fprintf(page.file, "%.1f,%.1f ", LEFT + wide * (double)p / (double)(points - 1),
                    TOP + tall * (1 - lines[i].y[p] / most));
        fprintf(page.file, "\"><title>%s</title></polyline>\n", lines[i].name);
    }
    fprintf(page.file, "</svg>\n<div class=\"legend\">");
    for (size_t i = 0; i < count; i++)
        fprintf(page.file, "<span style=\"color:%s\">&#9644; %s</span> ", colours[i % COLOURS],
                lines[i].name);
    fprintf(page.file, "</div></figure>\n");
}

void chart_end(void)
{
    if (ferror(page.file) || fclose(page.file) != 0) refuse();
}

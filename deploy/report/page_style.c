/* page_style.c - no text is smaller than 11 pixels, and its contrast is at least 4.5 to 1 (WCAG
 * 2.2, 1.4.3). */

#include "deploy/report/page_style.h"

#include "deploy/figures/curve_source.h"
#include "deploy/figures/style_sheet.h"

static const char base[] =
    ":root{color-scheme:light dark}"
    "*{box-sizing:border-box}"
    "body{font:16px/1.5 system-ui,-apple-system,'Segoe UI','DejaVu "
    "Sans',Helvetica,Arial,sans-serif;"
    "max-width:1000px;margin:2em auto;padding:0 16px;color:#222;background:#fff;"
    "overflow-wrap:break-word}"
    "h1{font-size:1.6em;line-height:1.2;margin:0 0 .3em}"
    "h2{font-size:1.25em;margin:2em 0 .5em;border-top:1px solid #ddd;padding-top:1em}"
    "h3{font-size:1.05em;margin:2em 0 .3em}"
    "p,dl,figcaption,.notes{max-width:780px}.lead{color:#555;margin-top:0}"
    "a{color:#0058a3}nav{font-size:.9em;margin:1em 0}nav a{margin-right:1.1em;white-space:nowrap}"
    ".answer p:first-of-type{font-size:1.15em;font-weight:600;line-height:1.4}";

static const char tables[] =
    /* A shadow at a side that can be scrolled. */
    ".wide{overflow-x:auto;margin:1em 0;--g:255,255,255;--s:0,0,0;background:"
    "linear-gradient(to right,rgb(var(--g)) 40%,rgba(var(--g),0)) 0 0/40px 100% no-repeat local,"
    "linear-gradient(to left,rgb(var(--g)) 40%,rgba(var(--g),0)) 100% 0/40px 100% no-repeat local,"
    "linear-gradient(to left,rgba(var(--s),.22),rgba(var(--s),0)) 100% 0/14px 100% no-repeat "
    "scroll}"
    "table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums}"
    "caption{text-align:left;font-weight:600;padding:.3em .5em}"
    "th,td{text-align:right;padding:.3em .55em;border-bottom:1px solid #ddd;white-space:nowrap}"
    "thead th{vertical-align:bottom;border-bottom:2px solid #555;line-height:1.25}"
    "th small{display:block;font-weight:400;font-size:12px;color:#555}"
    "th:first-child{text-align:left;position:sticky;left:0;background:#fff;font-weight:400;"
    "white-space:normal;min-width:7.5em;max-width:16em;line-height:1.25}"
    "td.bad{font-weight:700}";

static const char parts[] =
    "ul.notes,ul.arms,ul.failed{padding-left:1.2em}.notes{font-size:14px;color:#555}"
    "code{overflow-wrap:anywhere}details{margin:1em 0}summary{cursor:pointer}"
    "p.good,p.bad{font-weight:700;padding:.6em .9em;border-left:4px solid "
    "#009e73;background:#eef7f3}"
    "p.bad{border-color:#d55e00;background:#fdf1e8}"
    "figure{margin:1.5em 0 2.5em}figure svg{display:block;width:100%;height:auto}"
    ".at-wide{max-width:760px}.at-narrow{max-width:440px}"
    "figcaption{font-size:15px;color:#444;margin-top:.5em}"
    "pre{background:#f4f4f4;padding:.8em;font-size:14px;white-space:pre-wrap;overflow-wrap:"
    "anywhere}"
    "dt{font-weight:600}dd{margin:0 0 .6em 1.2em;overflow-wrap:anywhere}"
    "fieldset{border:0;margin:0;padding:.4em 0}legend{float:left;font-weight:600;padding:0 .8em 0 "
    "0}"
    "fieldset label{display:inline-block;margin-right:1em;padding:.1em 0;max-width:100%}"
    "fieldset input{margin:0 .35em 0 0}"
    ".against{position:sticky;top:0;z-index:2;background:#fff;border-bottom:1px solid #ddd}"
    ".keys{font-size:14px}.keys svg{width:28px;height:10px;margin-right:.35em}"
    "@media(max-width:807px){.at-wide{display:none}}"
    "@media(min-width:808px){.at-narrow{display:none}}";

static const char dark[] =
    "@media screen and (prefers-color-scheme:dark){"
    "body,.against,th:first-child{color:#ddd;background:#16181c}"
    ".lead,.notes,th small{color:#b0b0b0}figcaption{color:#c4c4c4}a{color:#7fc4ff}"
    "h2,th,td,.against{border-color:#3a3f46}thead th{border-color:#999}pre{background:#22252b}"
    ".wide{--g:22,24,28;--s:255,255,255}p.good{background:#17302a}p.bad{background:#3a2618}}";

static const char print[] =
    "@media "
    "print{nav,.against,.keys{display:none}body{max-width:none;margin:0;padding:0;font-size:11pt}"
    ".at-narrow{display:none}.at-wide{display:block;max-width:none}"
    "figure,table,h2,h3{break-inside:avoid}h2,h3,caption{break-after:avoid}"
    ".wide{overflow:visible}table{font-size:8.5pt}th,td{padding:.15em .4em}th "
    "small{font-size:8.25pt}"
    "th:first-child{position:static}"
    /* In print, details are open. */
    "details::details-content{content-visibility:visible;block-size:auto}summary{list-style:none}}";

/* Shows the curves against the selected scale; in print those against seconds, too. */
static void write_switch(FILE *page)
{
    fputs("@supports selector(:has(*)){", page);
    for (enum curve_x x = 0; x < CURVE_X_COUNT; x++)
        fprintf(page, "main:has(#x-%s:checked) .by:not(.by-%s){display:none}", curve_x_name(x),
                curve_x_name(x));
    fputs("@media print{main .by.by-seconds.by{display:block!important}}}", page);
}

/* Configurations that are ticked, or under the pointer, stand out. */
static void write_configs(FILE *page, size_t configs)
{
    fputs("@media screen{main:has(.keys input:checked) .arm{opacity:.13}", page);
    for (size_t i = 0; i < configs; i++)
        fprintf(page,
                "main:has(#arm-%zu:checked) .arm.a%zu{opacity:1}"
                "figure svg:has(.a%zu:hover) .arm:not(.a%zu){opacity:.2}",
                i, i, i, i);
    fputs("}", page);
}

void page_style_write(FILE *page, size_t configs)
{
    fputs("<style>", page);
    fputs(style_sheet(), page);
    fputs(base, page);
    fputs(tables, page);
    fputs(parts, page);
    fputs(dark, page);
    fputs(print, page);
    write_switch(page);
    write_configs(page, configs);
    fputs("</style>\n", page);
}

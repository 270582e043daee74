/*
 * The live screen of gossamer top, by ncurses.
 */
#include "inspect.h"
#include "tool.h"

#include <curses.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Bold: the first line, and the heading of the list. */
static void
draw(char *text, int head)
{
    int y = 0;

    erase();
    for (char *line = text; line != NULL && y < LINES; y++) {
        char *end = strchr(line, '\n');

        if (end != NULL)
            *end = '\0';
        if (y == 0 || y == head)
            attron(A_BOLD);
        mvaddnstr(y, 0, line, COLS);
        attroff(A_BOLD);
        line = end;
        if (line != NULL)
            line++;
    }
    move(0, 0);
    refresh();
}

/* False: the user ends it. A key ends the wait, a resize too. */
static bool
keys(struct toplook *l, int64_t delay)
{
    int c;

    timeout((int)(delay / 1000000));
    c = getch();
    if (c == 'q' || c == 'Q' || c == 'C' - '@')
        return false;
    if (c == 'c' || c == 'r' || c == 'w')
        top_sort(l, (char)c);
    else if (c == 'L' - '@')
        clearok(curscr, TRUE);  /* draw all of it again */
    return true;
}

/* Ctrl-C is a key, too: by its signal ncurses would end us as if something had failed. */
static void
ctrlc(void)
{
    struct termios tio;

    if (tcgetattr(STDIN_FILENO, &tio) != 0)
        return;
    tio.c_cc[VINTR] = _POSIX_VDISABLE;
    tcsetattr(STDIN_FILENO, TCSANOW, &tio);
    def_prog_mode();
}

static SCREEN *screen;

static void
leave(void)
{
    beforecomplaint = NULL;
    endwin();
    delscreen(screen);
}

int
topscreen(struct toplook *l, int64_t delay)
{
    const char *term = getenv("TERM");
    char *text;
    int head;

    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        complain("top: not a terminal (-b prints lines)");
        return EXIT_OWN;
    }
    if ((screen = newterm(NULL, stdout, stdin)) == NULL) {
        complain("top: the terminal '%s' is not known (-b prints lines)", term != NULL ? term : "");
        return EXIT_OWN;
    }
    beforecomplaint = leave;    /* or the line would be lost with the screen */
    cbreak();
    ctrlc();
    noecho();
    curs_set(0);
    do {
        if (!top_text(l, &text, LINES, &head))
            return EXIT_TARGET;
        draw(text, head);
        free(text);
    } while (keys(l, delay));
    leave();
    return 0;
}

/*
 * wordexp with command substitution and popen in both directions, in several threads at once: libc forks inside
 * itself and waits.  POSIX wordexp, popen.
 */
#include "conform.h"
#include <wordexp.h>

enum { N = 6 };

static void *
expands(void *arg)
{
    char text[80];
    wordexp_t w;
    int r;

    snprintf(text, sizeof text, "a$(echo b%d) '$x' $((2 + %d)) ${HOME_NOT_SET:-z}", (int)(intptr_t)arg, (int)(intptr_t)arg);
    r = wordexp(text, &w, 0);
    if (r != 0 || w.we_wordc != 4)
        return NULL;
    snprintf(text, sizeof text, "%s|%s|%s|%s", w.we_wordv[0], w.we_wordv[1], w.we_wordv[2], w.we_wordv[3]);
    wordfree(&w);
    return strdup(text);
}

static void *
pipes(void *arg)
{
    char cmd[80], line[80] = "";
    FILE *f, *in;
    int st;

    snprintf(cmd, sizeof cmd, "cat >popen.%d; sleep 0.02; exit %d", (int)(intptr_t)arg, (int)(intptr_t)arg);
    f = popen(cmd, "w");
    if (f == NULL)
        return NULL;
    fprintf(f, "text %d\n", (int)(intptr_t)arg);
    st = pclose(f);
    snprintf(cmd, sizeof cmd, "cat popen.%d", (int)(intptr_t)arg);
    in = popen(cmd, "r");
    if (in == NULL || fgets(line, sizeof line, in) == NULL)
        return NULL;
    line[strcspn(line, "\n")] = 0;
    snprintf(cmd, sizeof cmd, "%s, status %d, then %d", line, st >> 8, pclose(in));
    return strdup(cmd);
}

int
main(void)
{
    pthread_t a[N], b[N];
    char *s;

    for (intptr_t i = 0; i < N; i++) {
        a[i] = spawn(expands, (void *)i);
        b[i] = spawn(pipes, (void *)i);
    }
    for (int i = 0; i < N; i++) {
        s = (char *)join(a[i]);
        printf("%s\n", s ? s : "failed");
        free(s);
        s = (char *)join(b[i]);
        printf("%s\n", s ? s : "failed");
        free(s);
    }
    return conform_status();
}

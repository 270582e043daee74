#ifndef GOSSAMER_TLSMOD_H
#define GOSSAMER_TLSMOD_H

extern __thread int tlsmod_set;
extern __thread char tlsmod_zero[100];
extern __thread long tlsmod_aligned;
int *tlsmod_get(void);

#endif

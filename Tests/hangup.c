// A mallopt(3) that sends its process SIGHUP, as a terminal may that is closed while the program starts:
// the service tunes its heap before it takes any signal.

#include <signal.h>
#include <unistd.h>

int mallopt(int parameter, int value) {
    (void)parameter;
    (void)value;
    kill(getpid(), SIGHUP);
    return 1;
}

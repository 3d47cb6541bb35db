// A mallopt(3) that sends its process the signal EARLY_SIGNAL once, as a terminal does that is
// closed while the program starts, or whoever stops its container: the service tunes its heap
// early.

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

int mallopt(int parameter, int value) {
    static int is_sent;
    (void)parameter;
    (void)value;
    const char *number = getenv("EARLY_SIGNAL");
    if (number && !is_sent) kill(getpid(), atoi(number));
    is_sent = 1;
    return 1;
}

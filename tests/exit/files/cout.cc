// cout.cc - std::cout and std::wclog with buffers of their own, which stdio does not know.
#include <gasnet.h>
#include <iostream>

int main(int argc, char **argv)
{
    std::ios::sync_with_stdio(false);
    gasnet_init(&argc, &argv);
    gasnet_attach(nullptr, 0, GASNET_PAGESIZE, 0);
    static char room[4096];
    std::cout.rdbuf()->pubsetbuf(room, sizeof room);
    std::cout << "cout: the last line\n";
    std::wclog << L"wclog: the last line\n";
    gasnet_barrier_notify(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_barrier_wait(0, GASNET_BARRIERFLAG_ANONYMOUS);
    gasnet_exit(0);
}

/* patient.c - a client connects only when its server has a service point. Preloaded into both by
 * udapl.sh; the file named by PATIENT tells the client.
 *
 * dtestx sends its client the address just before it listens there. libdaploucm rejects such a
 * client, and libdaploscm mistakes the length of its private data when it tries again.
 */
#define _GNU_SOURCE
#include <dat2/udat.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia, DAT_CONN_QUAL at, DAT_EVD_HANDLE evd,
                          DAT_PSP_FLAGS flags, DAT_PSP_HANDLE *psp)
{
    __typeof__(dat_psp_create) *next = dlsym(RTLD_NEXT, "dat_psp_create");
    DAT_RETURN status = next(ia, at, evd, flags, psp);
    if (status == DAT_SUCCESS) close(open(getenv("PATIENT"), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    return status;
}

DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR to, DAT_CONN_QUAL at,
                          DAT_TIMEOUT timeout, DAT_COUNT n, const DAT_PVOID data, DAT_QOS qos,
                          DAT_CONNECT_FLAGS flags)
{
    __typeof__(dat_ep_connect) *next = dlsym(RTLD_NEXT, "dat_ep_connect");
    while (access(getenv("PATIENT"), F_OK)) nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    return next(ep, to, at, timeout, n, data, qos, flags);
}

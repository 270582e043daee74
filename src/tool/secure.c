/*
 * Would the kernel set AT_SECURE, with which ld.so ignores LD_PRELOAD?
 *
 * Only if the ids or capabilities really change: a setuid file run by its
 * owner, on a nosuid mount or under no_new_privs is an ordinary program.
 */
#include "tool.h"

#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Root has all capabilities already; a file's add nothing. */
static bool
filecaps(int fd)
{
    static const struct vfs_cap_data none;
    struct vfs_cap_data cap[2];     /* version 3 is longer by a root id */
    ssize_t n;

    if (getuid() == 0)
        return false;
    n = fgetxattr(fd, "security.capability", cap, sizeof cap);
    if (n < (ssize_t)sizeof cap[0].magic_etc)
        return false;
    return (cap[0].magic_etc & VFS_CAP_FLAGS_EFFECTIVE) != 0 ||
        memcmp(cap[0].data, none.data,
        (size_t)n - sizeof cap[0].magic_etc < sizeof none.data
        ? (size_t)n - sizeof cap[0].magic_etc : sizeof none.data) != 0;
}

bool
securecheck(struct verdict *v, int fd)
{
    uid_t uid = geteuid();
    gid_t gid = getegid();
    struct statvfs fs;
    struct stat st;
    bool may;

    if (fstat(fd, &st) != 0)
        return true;
    may = fstatvfs(fd, &fs) != 0 || (fs.f_flag & ST_NOSUID) == 0;
    if (may && filecaps(fd))
        return refuse(v, "has file capabilities");
    if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
        may = false;
    if (may && (st.st_mode & S_ISUID) != 0)
        uid = st.st_uid;
    if (may && (st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP))
        gid = st.st_gid;
    if (uid != getuid())
        return refuse(v, uid == geteuid() ? "run with a changed user id"
            : "setuid");
    if (gid != getgid())
        return refuse(v, gid == getegid() ? "run with a changed group id"
            : "setgid");
    return true;
}

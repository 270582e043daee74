#!/bin/bash
# CPython's own tests of threads, signals, children and sockets: every single test must come to what it comes to natively.
# Network tests stay on the loopback interface. GOSSAMER_LONG=1 (an hour and a half, so under ./run with TEST_LIMIT=7200):
# all modules, with as many processors as there are, 1 and 8. Otherwise (a minute and a half): the quick ones, at 2.
. "$(dirname "$0")/lib.sh"
py=$(elf python3) || skip "no python3 that is a real program (scripts and shims do not count)"
"$py" -c 'import test.libregrtest, test.test_threading' 2>/dev/null || skip "no test suite of python3 (libpython3-testsuite)"
modules=(test_thread test_threadsignals test_threading test_fork1 test_select test_epoll test_queue test_socketserver
    test_httpservers test_telnetlib test_ftplib test_smtplib)
ps=(2)
if [ "${GOSSAMER_LONG:-0}" = 1 ]; then
    modules+=(test_signal test_subprocess test_faulthandler test_concurrent_futures test_asyncio
        test_multiprocessing_fork test_multiprocessing_spawn test_socket test_poll test_selectors test_ssl)
    ps=(default 1 8)
    LIMIT=600
fi
export TMPDIR=$tmp

# module SIDE NAME: runs it, leaves the results in NAME.SIDE; its exit status
module() {
    local side=$1 m=$2 rc run=() more=()
    case $side in
    native) ;;
    default) run=("$GOSSAMER") ;;
    *) run=("$GOSSAMER" -p "$side") ;;
    esac
    # it wants the network resource, but connects only to its own servers; the others would look up names with it
    [ "$m" = test_socketserver ] && more=(-u network)
    # a VSOCK connection to nobody never ends on some machines
    timeout -k 5 "$LIMIT" ${run[@]+"${run[@]}"} "$py" -m test -v -i '*VSOCK*' ${more[@]+"${more[@]}"} \
        --junit-xml "$tmp/$m.$side.xml" "$m" >"$tmp/$m.$side.out" 2>&1 </dev/null
    rc=$?
    "$py" "$real/python_results.py" "$tmp/$m.$side.xml" >"$tmp/$m.$side" 2>/dev/null || tail -n 15 "$tmp/$m.$side.out"
    return $rc
}

bad=0
for m in "${modules[@]}"; do
    module native "$m"
    nrc=$?
    [ -s "$tmp/$m.native" ] || fail "$m: natively it ends with status $nrc and no results"
    for p in $(sides "${ps[@]}"); do
        module "$p" "$m"
        rc=$?
        if [ $rc != "$nrc" ] || ! cmp -s "$tmp/$m.native" "$tmp/$m.$p"; then
            [ -s "$tmp/$m.$p" ] && diff "$tmp/$m.native" "$tmp/$m.$p" | head -n 10
            echo "$m at $p P: exit status $rc, natively $nrc"
            bad=$((bad + 1))
        fi
    done
    echo "$m: $(wc -l <"$tmp/$m.native") tests, status $nrc"
done
[ $bad = 0 ] || fail "$bad runs of a module with other results than natively"

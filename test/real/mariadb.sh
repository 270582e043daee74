#!/bin/bash
# mariadbd, a thread for each connection: sysbench with many clients, KILL, shutdown under load, restart; the data and the
# error log as natively.
# shellcheck disable=SC2086,SC2034 # lists of numbers; what lib.sh reads
. "$(dirname "$0")/lib.sh"
. "$real/servers_lib"
PATH=$PATH:/usr/sbin:/sbin
need mariadbd
need mariadb-install-db
need mariadb
need sysbench
export LC_ALL=C
LIMIT=200 clients=256 seconds=4 rows=2000 ps="2 8"
[ "$LONG" = 1 ] && seconds=30 rows=20000 ps="1 2 8" LIMIT=600
as_user mysql
chmod 755 "$tmp"

# mariadb_down P HOW: by SIGTERM or by the SHUTDOWN statement
mariadb_down() {
    local rc
    if [ "$2" = TERM ]; then kill -TERM "$srv"; else sql -e shutdown; fi
    ended
    rc=$?
    [ $rc = 0 ] || { tail -n 10 "$dir/log.err"; fail "mariadbd at $1: status $rc after $2"; }
    grep -q 'Shutdown complete' "$dir/log.err" || { tail -n 10 "$dir/log.err"; fail "mariadbd at $1: no complete shutdown after $2"; }
}

answers() { sql sb -e 'checksum table sbtest1, sbtest2; select count(*), sum(k), sum(crc32(c)) from sbtest1; check table sbtest1, sbtest2'; }

# a statement and a connection are killed while they wait; what their clients are told
kills() {
    local q c id
    sql -e "select 'victim-q', sleep(30), sleep(30)" >"$dir/q" 2>&1 & q=$!
    sql -e "select 'victim-c', sleep(31)" >"$dir/c" 2>&1 & c=$!
    for what in q c; do
        for i in $(seq 100); do
            id=$(sql -e "select id from information_schema.processlist where info like '%victim-$what%' and info not like '%schema%'")
            [ -n "$id" ] && break
            sleep 0.05
        done
        [ -n "$id" ] || { echo 'the statement that is to be killed does not run'; break; }
        if [ $what = q ]; then sql -e "kill query $id"; else sql -e "kill connection $id"; fi
    done
    wait $q; echo "query $?: $(sed 's/ at line.*//' "$dir/q" | tr '\n' ' ')"
    wait $c; echo "connection $?: $(sed 's/ at line.*//' "$dir/c" | tr '\n' ' ')"
}

# connections that wait for a row that one of them holds: all get their turn, and a deadlock is found
rowlocks() {
    local i
    sql sb -e 'create table t (id int primary key, n int) engine=innodb; insert into t values (1, 0), (2, 0)'
    for i in $(seq 16); do
        for _ in $(seq 25); do echo "begin; update t set n = n + 1 where id = 1; do sleep(0.001); update t set n = n + 1 where id = 2; commit;"; done |
            sql sb >"$dir/row.$i" 2>&1 &
        rows_pids[i]=$!
    done
    wait "${rows_pids[@]}"
    cat "$dir"/row.* | head -n 3
    sql sb -e 'select * from t; drop table t'
}

for p in native $(sides $ps); do
    dir=$tmp/$p sock=$tmp/$p/sock port=$(freeport)
    : >"$tmp/server.out"
    mkdir "$dir"
    mariadb_install
    mariadb_up "$p"
    mariadb_fill || fail "mariadb at $p: cannot fill the tables"
    { answers; kills; rowlocks; } >"$dir/answers" 2>&1
    [ "$p" = native ] || cmp -s "$tmp/native/answers" "$dir/answers" || { diff "$tmp/native/answers" "$dir/answers" | head -n 10; fail "mariadb at $p: other answers than natively"; }

    # point selects by many clients; then a mixture, whose statements must all succeed
    sysbench_sql oltp_point_select run --threads=$clients --time=$seconds >"$dir/select" 2>&1 & load=$!
    sleep $((seconds / 2 + 1))
    k=$(tasks "$srv")
    wait $load || { tail -n 5 "$dir/select" "$dir/log.err"; fail "mariadb at $p: oltp_point_select"; }
    [ "$p" = native ] || [ "$k" -lt $((clients / 2)) ] || fail "$clients connections are $k kernel threads at $p: not under gossamer at all"
    sysbench_sql oltp_read_write run --threads=32 --time=$seconds >"$dir/mix" 2>&1 || { tail -n 5 "$dir/mix" "$dir/log.err"; fail "mariadb at $p: oltp_read_write"; }
    column "$p" "select $(sed -n 's/.*queries: .*(\(.*\))/\1/p' "$dir/select"), mixed $(sed -n 's/.*queries: .*(\(.*\))/\1/p' "$dir/mix")" \
        "$(sed -n 's/ *95th percentile: */95 % within /p' "$dir/select" | head -n 1) ms, $k kernel threads, $(peak "$srv") MB"
    sql sb -e 'check table sbtest1, sbtest2' | grep -v 'OK$' && fail "mariadb at $p: a table is damaged"

    # shutdown while clients write: the statement, then a restart, then SIGTERM
    for how in statement TERM; do
        sysbench_sql oltp_write_only run --threads=64 --time=$((seconds + 30)) >"$dir/load" 2>&1 & load=$!
        sleep 1.5
        mariadb_down "$p" $how
        wait $load
        : >"$tmp/server.out"
        mariadb_up "$p"
        grep -i 'crash recovery\|not cleanly' "$dir/log.err" && fail "mariadb at $p: the shutdown by $how was not a clean one"
        sql sb -e 'check table sbtest1, sbtest2' | grep -v 'OK$' && fail "mariadb at $p: a table is damaged after $how"
    done
    sql sb -e 'select count(*) from sbtest1; select count(*) from sbtest2' >"$dir/left"
    cmp -s "$tmp/native/left" "$dir/left" || fail "mariadb at $p: rows are missing or too many: $(tr '\n' ' ' <"$dir/left")"
    mariadb_down "$p" TERM
    grep -iE '\[ERROR\]|corrupt|assert|signal [0-9]+|semaphore wait' "$dir/log.err" "$tmp/server.out" | grep -v 'Aborted connection' >"$dir/errors" &&
        { head -n 5 "$dir/errors"; fail "mariadb at $p: errors in the log"; }
    rm -rf "$dir/data"
done
exit 0

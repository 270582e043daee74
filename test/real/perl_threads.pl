#!/usr/bin/perl
# Perl's interpreter threads: creation, shared data, queues, signals, children. Prints what came out, never when.
# usage: perl_threads.pl [ROUNDS]
use strict;
use warnings;
use threads;
use threads::shared;
use Thread::Queue;
use Thread::Semaphore;
use POSIX ();
use Socket;
use Time::HiRes qw(usleep);

$| = 1;
my $rounds = shift // 1;

# eventually CODE: whether it became true within half a minute
sub eventually {
    my $true = shift;
    for (1 .. 3000) {
        return 1 if $true->();
        usleep(10000);
    }
    return 0;
}

sub results {
    my @t = map { my $n = $_; threads->create({ context => 'list' }, sub { return map { $_ * $n } 1 .. 4 }) } 1 .. 12;
    print "results: ", join(" ", map { join(",", $_->join) } @t), "\n";
    my $scalar = threads->create({ context => 'scalar' }, sub { wantarray ? "list" : "scalar" })->join;
    my $early = threads->create(sub { threads->exit(3); 1 })->join;
    print "context $scalar, exit ", defined $early ? "a value" : "no value", ", left ", scalar(threads->list), "\n";
    my $dies = threads->create({ context => 'scalar' }, sub { no warnings 'threads'; die "on purpose\n" });
    $dies->join;
    print "died: ", $dies->error;
}

# a thread gets a copy of what is not shared
sub copies {
    my @own = (1 .. 1000);
    my @seen :shared;
    my @t = map { my $n = $_; threads->create(sub { push @own, ($n) x $n; lock @seen; $seen[$n] = @own }) } 0 .. 7;
    $_->join for @t;
    print "copies: @seen, here ", scalar(@own), "\n";
}

sub counter {
    my ($sum, %count) :shared = (0);
    my @t = map {
        my $n = $_ % 3;
        threads->create(sub {
            for my $i (1 .. 300) {
                { lock $sum; $sum += $i }
                lock %count;
                $count{$n}++;
            }
        });
    } 1 .. 9;
    $_->join for @t;
    print "counter: $sum", map({ " $_=$count{$_}" } sort keys %count), "\n";
}

# two threads take turns by condition variables
sub turns {
    my ($turn, $text) :shared = (0, "");
    my @t = map {
        my $me = $_;
        threads->create(sub {
            for (1 .. 50) {
                lock $turn;
                cond_wait($turn) until $turn == $me;
                $text .= $me;
                $turn = 1 - $me;
                cond_broadcast($turn);
            }
        });
    } 0, 1;
    $_->join for @t;
    my $late :shared = 0;
    my $timed = threads->create({ context => 'scalar' }, sub { lock $late; cond_timedwait($late, time() + 1) ? "woken" : "timed out" })->join;
    print "turns: ", ($text eq "01" x 50 ? "strict" : $text), ", timed wait $timed\n";
}

sub queues {
    my ($work, $done) = (Thread::Queue->new, Thread::Queue->new);
    $work->limit = 20;
    my @consumers = map { threads->create(sub { while (defined(my $n = $work->dequeue)) { $done->enqueue($n * $n) } }) } 1 .. 4;
    my @producers = map { my $n = $_; threads->create(sub { $work->enqueue($_ * 10 + $n) for 1 .. 100 }) } 0 .. 2;
    $_->join for @producers;
    $work->end;
    $_->join for @consumers;
    my ($n, $sum) = ($done->pending, 0);
    $sum += $done->dequeue for 1 .. $n;
    print "queue: $n, sum $sum, timed ", defined $done->dequeue_timed(0.05) ? "something" : "nothing", "\n";
}

sub semaphores {
    my $s = Thread::Semaphore->new(2);
    my ($in, $most) :shared = (0, 0);
    my @t = map {
        threads->create(sub {
            for (1 .. 20) {
                $s->down;
                { lock $in; $in++; $most = $in if $in > $most }
                threads->yield;
                { lock $in; $in-- }
                $s->up;
            }
        });
    } 1 .. 6;
    $_->join for @t;
    print "semaphore: in $in, ", $most <= 2 ? "never too many" : "$most at once", "\n";
}

# $thr->kill is between interpreters; kill to the process is the kernel's and comes to the first thread
sub signals {
    my ($ready, $got) :shared = (0, "");
    my @t = map {
        my $n = $_;
        threads->create(sub {
            my $stop = 0;
            local $SIG{KILL} = sub { $stop = 1 };
            local $SIG{USR2} = sub { lock $got; $got .= "usr2 " };
            { lock $ready; $ready++ }
            usleep(1000) until $stop;
        });
    } 1 .. 5;
    eventually(sub { $ready == 5 });
    $_->kill('USR2') for @t;
    eventually(sub { length($got) == 25 });
    $_->kill('KILL') for @t;
    $_->join for @t;
    print "thread signals: $got\n";

    my ($usr1, $alrm) = (0, 0);
    local $SIG{USR1} = sub { $usr1++ };
    local $SIG{ALRM} = sub { $alrm++ };
    my $pid = $$;
    for (1 .. 20) {
        threads->create(sub { kill 'USR1', $pid })->join;
        eventually(sub { $usr1 >= $_ });
    }
    my $sleeper = threads->create(sub { usleep(1200000) });
    alarm 1;
    my $slept = select(undef, undef, undef, 20);
    print "process signals: $usr1, alarm $alrm broke off a select: ", $slept < 0 ? "yes" : "no", "\n";
    $sleeper->join;
    my $timeout = eval { local $SIG{ALRM} = sub { die "timeout\n" }; alarm 1; my $q = Thread::Queue->new; select(undef, undef, undef, 20); 0 };
    print "die in a handler: $@";
}

sub children {
    my @t = map {
        my $n = $_;
        threads->create({ context => 'scalar' }, sub {
            my $pid = fork // die "fork: $!";
            POSIX::_exit($n) if $pid == 0;
            waitpid($pid, 0);
            my $status = $? >> 8;
            my $out = `echo from $n`;
            chomp $out;
            return "$status/$out/" . (system("exit $n; true") >> 8);
        });
    } 1 .. 6;
    print "children: ", join(", ", map { $_->join } @t), "\n";
    # a thread of a child that was forked by a thread
    my $st = threads->create({ context => 'scalar' }, sub {
        my $pid = fork // die "fork: $!";
        if ($pid == 0) {
            my $r = threads->create({ context => 'scalar' }, sub { 7 })->join;
            POSIX::_exit($r);
        }
        waitpid($pid, 0);
        return $? >> 8;
    })->join;
    print "threads in a child: $st\n";
}

sub pipes {
    socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die "socketpair: $!";
    pipe(my $r, my $w) or die "pipe: $!";
    my $echo = threads->create(sub { while (sysread($b, my $x, 4096)) { syswrite($b, uc $x) } });
    my $writer = threads->create(sub { for (1 .. 200) { syswrite($w, "line $_\n") } });
    my ($lines, $echoed) = (0, 0);
    $writer->join;
    for (1 .. 200) { $lines++ if <$r> eq "line $_\n" }   # no end to wait for: the other thread has a copy of $w
    for (1 .. 200) {
        syswrite($a, "abc$_");
        sysread($a, my $x, 4096);
        $echoed++ if $x eq "ABC$_";
    }
    shutdown($a, 1);
    $echo->join;
    print "pipes: $lines lines, $echoed echoes\n";
}

for (1 .. $rounds) {
    results();
    copies();
    counter();
    turns();
    queues();
    semaphores();
    signals();
    children();
    pipes();
}
threads->create(sub { usleep(1000) })->detach for 1 .. 5;
usleep(300000);
print "left: ", scalar(threads->list), "\n";

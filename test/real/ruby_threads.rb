# Ruby's threads: queues, locks, time limits, traps, children, IO. Prints what came out, never when.
# usage: ruby_threads.rb [ROUNDS]
require "io/wait"
require "monitor"
require "open3"
require "socket"
require "timeout"

$stdout.sync = true
Thread.report_on_exception = false

# Whether the block became true within half a minute.
def eventually
  3000.times do
    return true if yield
    sleep 0.01
  end
  false
end

def values
  puts "values: #{Array.new(50) { |i| Thread.new { i * i } }.sum(&:value)}"
  t = Thread.new { Thread.current[:mine] = 1; Thread.current.thread_variable_set(:too, 2); Thread.stop; :woken }
  eventually { t.stop? }
  print "locals #{t[:mine]} #{t.thread_variable_get(:too)}, status #{t.status}, "
  t.run
  puts "#{t.value}, then #{t.status.inspect}"
  dies = Thread.new { raise ArgumentError, "on purpose" }
  begin
    dies.join
  rescue ArgumentError => e
    puts "died: #{e.message}, status #{dies.status.inspect}"
  end
end

def queues
  work = SizedQueue.new(8)
  done = Queue.new
  consumers = Array.new(4) { Thread.new { while (n = work.pop) do done << n * n end } }
  Array.new(3) { |p| Thread.new { 300.times { |i| work << 10 * i + p } } }.each(&:join)
  4.times { work << nil }
  consumers.each(&:join)
  sum = 0
  n = done.size
  sum += done.pop until done.empty?
  puts "queue: #{n}, sum #{sum}"
  closed = Queue.new
  waiter = Thread.new { closed.pop }
  eventually { waiter.stop? }
  closed.close
  puts "closed: #{waiter.value.inspect}"
end

def locks
  mutex = Mutex.new
  count = 0
  Array.new(8) { Thread.new { 500.times { mutex.synchronize { c = count; Thread.pass if c % 50 == 0; count = c + 1 } } } }.each(&:join)
  turn = 0
  text = +""
  cond = ConditionVariable.new
  Array.new(2) do |me|
    Thread.new do
      50.times do
        mutex.synchronize do
          cond.wait(mutex) until turn == me
          text << me.to_s
          turn = 1 - me
          cond.broadcast
        end
      end
    end
  end.each(&:join)
  monitor = Monitor.new
  deep = Array.new(4) { Thread.new { monitor.synchronize { monitor.synchronize { 1 } } } }.sum(&:value)
  puts "locks: #{count}, #{text == '01' * 50 ? 'strict turns' : text}, monitor #{deep}"
  begin
    Thread.new { Thread.stop }.join
  rescue Exception => e
    puts "nobody left: #{e.class}"
  end
end

def limits
  r = begin
    Timeout.timeout(0.1) { sleep 20 }
    "no limit"
  rescue Timeout::Error
    "sleep"
  end
  read, write = IO.pipe
  io = begin
    Timeout.timeout(0.1) { read.read(1) }
  rescue Timeout::Error
    "read"
  end
  busy = begin
    Timeout.timeout(0.2) { loop { } }
  rescue Timeout::Error
    "loop"
  end
  within = Timeout.timeout(20) { :in_time }
  write.close
  puts "limits: #{r}, #{io}, #{busy}, #{within}, join #{Thread.new { sleep 20 }.join(0.05).inspect}"
end

# Thread#raise and #kill reach a thread that sleeps, reads, waits for a lock, or computes.
def breaking
  read, = IO.pipe
  held = Mutex.new.lock
  waits = [-> { sleep }, -> { read.read(1) }, -> { held.lock }, -> { Queue.new.pop }, -> { loop { } }]
  started = Queue.new
  out = waits.map do |w|
    t = Thread.new do
      started << 1
      w.call
    rescue IOError => e
      e.message
    end
    started.pop
    t.raise(IOError, "broken")
    t.value
  end
  killed = waits.count do |w|
    ensured = false
    t = Thread.new do
      started << 1
      w.call
    ensure
      ensured = true
    end
    started.pop
    sleep 0.01
    t.kill
    t.join
    ensured && t.status == false
  end
  puts "raised: #{out.join(' ')}, killed #{killed}"
end

def signals
  got = Hash.new(0)
  old = %w[USR1 USR2 ALRM].to_h { |s| [s, trap(s) { got[s] += 1 }] }
  20.times do |i|
    Thread.new { Process.kill(:USR1, Process.pid) }.join
    eventually { got["USR1"] > i }
  end
  sleeper = Thread.new { sleep 0.3 }
  Process.kill(:USR2, Process.pid)
  eventually { got["USR2"] == 1 }
  sleeper.join
  spawned = Process.spawn("kill -ALRM #{Process.pid}")
  Process.wait(spawned)
  eventually { got["ALRM"] == 1 }
  puts "traps: #{got.sort.inspect}"
  old.each { |s, h| trap(s, h || "DEFAULT") }
  r = begin
    killer = Thread.new { sleep 0.05; Process.kill(:INT, Process.pid) }
    sleep 20
  rescue Interrupt
    "interrupted"
  end
  killer.join
  puts "sleep: #{r}"
end

def children
  out = Array.new(6) do |i|
    Thread.new do
      pid = fork { exit!(Thread.new { i + 1 }.value) }
      _, status = Process.wait2(pid)
      "#{status.exitstatus}/#{`echo from #{i}`.chomp}/#{system("exit #{i}; true").inspect}"
    end
  end.map(&:value)
  puts "children: #{out.join(', ')}"
  read, write = IO.pipe
  pid = fork do
    trap("TERM") { exit!(5) }
    write << "ready"
    write.close
    sleep 20
  end
  write.close
  read.read
  Process.kill(:TERM, pid)
  puts "child: status #{Process.wait2(pid).last.exitstatus}"
  text, status = Open3.capture2("tr a-z A-Z", stdin_data: "some text\n" * 5000)
  puts "filter: #{text.size} #{text.count('T')} #{status.exitstatus}"
end

def io
  pipes = Array.new(5) { IO.pipe }
  writer = Thread.new { pipes.each_with_index { |(_, w), i| sleep 0.005; w << "p#{i}"; w.close } }
  open = pipes.map(&:first)
  text = Hash.new { |h, k| h[k] = +"" }
  until open.empty?
    ready, = IO.select(open, nil, nil, 20)
    break if ready.nil?
    ready.each do |r|
      text[pipes.index { |p, _| p == r }] << r.read_nonblock(100)
    rescue EOFError
      open.delete(r)
    end
  end
  writer.join
  none = IO.select([IO.pipe[0]], nil, nil, 0.02)
  puts "select: #{text.sort.map(&:last).join(' ')}, nothing #{none.inspect}"
  server = TCPServer.new("127.0.0.1", 0)
  serving = Thread.new { loop { c = server.accept; Thread.new { while (l = c.gets) do c.puts(l.upcase) end; c.close } } }
  sum = Array.new(10) do |i|
    Thread.new do
      TCPSocket.open("127.0.0.1", server.addr[1]) { |s| (1..30).count { |k| s.puts("line #{i} #{k}"); s.gets == "LINE #{i} #{k}\n" } }
    end
  end.sum(&:value)
  serving.kill.join
  read, write = IO.pipe
  reader = Thread.new do
    read.read(1)
  rescue IOError => e
    e.class
  end
  eventually { reader.stop? }
  read.close
  puts "served: #{sum}, closed under a reader: #{reader.value}"
  write.close
end

(ARGV[0] || 1).to_i.times do
  values
  queues
  locks
  limits
  breaking
  signals
  children
  io
end
Thread.new { sleep }
at_exit { puts "left at the end: #{Thread.list.any? { |t| t != Thread.main }}" }

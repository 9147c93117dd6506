; The worker pool: one task at a time, cut into pieces that the caller and its helpers take in turn.
;
; A helper's state is IDLE (spinning), ASLEEP (waits on its lock), POSTED (a task waits for it) or WORKING. The caller
; posts, works itself, takes back what no helper has begun, and waits for the rest. PyThread locks serve as binary
; semaphores: they need no GIL and may be released by another thread than the one that took them.
;
; In a process that has an OpenMP runtime (PyTorch brings one) the pieces are taken by its threads instead: idle OpenMP
; threads spin for milliseconds and would keep helpers of ours from the processors.

; void (frame, begin, end); frame; size; piece; the caller's floating-point control; -; next piece's begin
%task = type { ptr, ptr, i64, i64, i64, [24 x i8], i64 }
%helper = type { i64, ptr, [48 x i8] }              ; state, lock; one cache line each
%counter = type { i64, [56 x i8] }

@threads = internal global i64 1                    ; the caller included
@started = internal global i64 0
@busy = internal global i64 0
@openmp = internal global ptr null                  ; GOMP_parallel: void (function, data, threads, flags)
@task = internal global ptr null                    ; the one that runs
@task_pending = internal global %counter zeroinitializer, align 64
@task_done = internal global ptr null               ; a lock, held while a task runs
@helpers = internal global [LARGEST_POOL x %helper] zeroinitializer, align 64

declare ptr @PyThread_allocate_lock()
declare i32 @PyThread_acquire_lock(ptr, i32)
declare void @PyThread_release_lock(ptr)
declare i64 @PyThread_start_new_thread(ptr, ptr)
PAUSE_DECLARATION
CONTROL_FUNCTIONS

define void @pool_set_threads(i64 %count) {
  store atomic i64 %count, ptr @threads release, align 8
  ret void
}

define i64 @pool_get_threads() {
  %count = load atomic i64, ptr @threads acquire, align 8
  ret i64 %count
}

; Take the threads of an OpenMP runtime from now on.
define void @pool_use_openmp(ptr %parallel) {
  store atomic ptr %parallel, ptr @openmp release, align 8
  ret void
}

; For a forked child, where no helper exists. What the parent's locks took is left behind.
define void @pool_reset() {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %state = getelementptr [LARGEST_POOL x %helper], ptr @helpers, i64 0, i64 %i, i32 0
  store i64 0, ptr %state
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, LARGEST_POOL
  br i1 %more, label %loop, label %end
end:
  store i64 0, ptr @started
  store ptr null, ptr @task_done
  store atomic ptr null, ptr @openmp release, align 8
  store atomic i64 0, ptr @busy release, align 8
  ret void
}

; A lock that is held, or null.
define internal ptr @held_lock() {
  %lock = call ptr @PyThread_allocate_lock()
  %missing = icmp eq ptr %lock, null
  br i1 %missing, label %end, label %hold
hold:
  %held = call i32 @PyThread_acquire_lock(ptr %lock, i32 1)
  br label %end
end:
  ret ptr %lock
}

; Start helpers until there are `wanted`; returns how many there are. The caller holds `busy`.
define internal i64 @start_helpers(i64 %wanted) {
entry:
  %done = load ptr, ptr @task_done
  %no_done = icmp eq ptr %done, null
  br i1 %no_done, label %first, label %check
first:
  %made = call ptr @held_lock()
  store ptr %made, ptr @task_done
  %no_made = icmp eq ptr %made, null
  br i1 %no_made, label %end, label %check
check:
  %count = load i64, ptr @started
  %enough = icmp uge i64 %count, %wanted
  br i1 %enough, label %end, label %start
start:
  %helper = getelementptr [LARGEST_POOL x %helper], ptr @helpers, i64 0, i64 %count
  %lock = call ptr @held_lock()
  %no_lock = icmp eq ptr %lock, null
  br i1 %no_lock, label %end, label %thread
thread:
  %lock_field = getelementptr %helper, ptr %helper, i32 0, i32 1
  store ptr %lock, ptr %lock_field
  store atomic i64 IDLE, ptr %helper release, align 8
  %identifier = call i64 @PyThread_start_new_thread(ptr @help, ptr %helper)
  %failed = icmp eq i64 %identifier, -1
  br i1 %failed, label %end, label %count_it
count_it:
  %count_1 = add i64 %count, 1
  store i64 %count_1, ptr @started
  br label %check
end:
  %result = load i64, ptr @started
  ret i64 %result
}

; Take pieces of a task until none is left. What becomes of denormal numbers, and how is rounded, is as the caller has it.
define internal void @take_pieces(ptr %task) {
entry:
  %function = load ptr, ptr %task
  %frame_field = getelementptr %task, ptr %task, i32 0, i32 1
  %frame = load ptr, ptr %frame_field
  %size_field = getelementptr %task, ptr %task, i32 0, i32 2
  %size = load i64, ptr %size_field
  %piece_field = getelementptr %task, ptr %task, i32 0, i32 3
  %piece = load i64, ptr %piece_field
  %next_field = getelementptr %task, ptr %task, i32 0, i32 6
  %control = getelementptr %task, ptr %task, i32 0, i32 4
  %own_control = alloca i64
  call void @get_control(ptr %own_control)
  call void @set_control(ptr %control)
  br label %take
take:
  %begin = atomicrmw add ptr %next_field, i64 %piece acq_rel
  %any = icmp slt i64 %begin, %size
  br i1 %any, label %run, label %end
run:
  %limit = add i64 %begin, %piece
  %last = call i64 @llvm.smin.i64(i64 %limit, i64 %size)
  call void %function(ptr %frame, i64 %begin, i64 %last)
  br label %take
end:
  call void @set_control(ptr %own_control)
  ret void
}
declare i64 @llvm.smin.i64(i64, i64)

; A helper's life: wait for a task, work, say when it was the last to finish.
define internal void @help(ptr %helper) {
entry:
  %lock_field = getelementptr %helper, ptr %helper, i32 0, i32 1
  %lock = load ptr, ptr %lock_field
  br label %wait
wait:
  br label %spin
spin:
  %turn = phi i64 [ 0, %wait ], [ %turn_1, %pause ]
  %state = load atomic i64, ptr %helper acquire, align 8
  %posted = icmp eq i64 %state, POSTED
  br i1 %posted, label %begin, label %idle
idle:
  %tired = icmp uge i64 %turn, HELPER_SPINS
  br i1 %tired, label %sleep, label %pause
pause:
  PAUSE
  %turn_1 = add i64 %turn, 1
  br label %spin
sleep:
  %asleep = cmpxchg ptr %helper, i64 IDLE, i64 ASLEEP acq_rel acquire
  %fell = extractvalue { i64, i1 } %asleep, 1
  br i1 %fell, label %blocked, label %wait
blocked:
  %woken = call i32 @PyThread_acquire_lock(ptr %lock, i32 1)
  br label %wait
begin:
  %claim = cmpxchg ptr %helper, i64 POSTED, i64 WORKING acq_rel acquire
  %claimed = extractvalue { i64, i1 } %claim, 1
  br i1 %claimed, label %work, label %wait
work:
  %task = load ptr, ptr @task
  call void @take_pieces(ptr %task)
  store atomic i64 IDLE, ptr %helper release, align 8
  %pending = atomicrmw sub ptr @task_pending, i64 1 acq_rel
  %final = icmp eq i64 %pending, 1
  br i1 %final, label %report, label %wait
report:
  %done = load ptr, ptr @task_done
  call void @PyThread_release_lock(ptr %done)
  br label %wait
}

; Run function(frame, begin, end) over [0, size) in pieces, by as many threads as are set and pay. Serial when another
; caller has the pool. Every piece but the last has exactly `piece` elements and starts at a multiple of it.
define void @pool_run(ptr %function, ptr %frame, i64 %size, i64 %piece) {
entry:
  %threads = load atomic i64, ptr @threads acquire, align 8
  %others = sub i64 %threads, 1
  %size_less = sub i64 %size, 1
  %full = sdiv i64 %size_less, %piece
  %useful = call i64 @llvm.smin.i64(i64 %others, i64 %full)
  %alone = icmp slt i64 %useful, 1
  br i1 %alone, label %serial, label %describe
describe:
  %task = alloca %task, align 64
  store ptr %function, ptr %task
  %frame_field = getelementptr %task, ptr %task, i32 0, i32 1
  store ptr %frame, ptr %frame_field
  %size_field = getelementptr %task, ptr %task, i32 0, i32 2
  store i64 %size, ptr %size_field
  %piece_field = getelementptr %task, ptr %task, i32 0, i32 3
  store i64 %piece, ptr %piece_field
  %control = getelementptr %task, ptr %task, i32 0, i32 4
  call void @get_control(ptr %control)
  %next_field = getelementptr %task, ptr %task, i32 0, i32 6
  store atomic i64 0, ptr %next_field release, align 8
  %openmp = load atomic ptr, ptr @openmp acquire, align 8
  %own = icmp eq ptr %openmp, null
  br i1 %own, label %enter, label %foreign
foreign:
  %team = add i64 %useful, 1
  %team_32 = trunc i64 %team to i32
  call void %openmp(ptr @take_pieces, ptr %task, i32 %team_32, i32 0)
  ret void
enter:
  %lock = cmpxchg ptr @busy, i64 0, i64 1 acq_rel acquire
  %entered = extractvalue { i64, i1 } %lock, 1
  br i1 %entered, label %prepare, label %serial
prepare:
  %available = call i64 @start_helpers(i64 %useful)
  %count = call i64 @llvm.smin.i64(i64 %available, i64 %useful)
  store ptr %task, ptr @task
  %everyone = add i64 %count, 1
  store atomic i64 %everyone, ptr @task_pending release, align 8
  br label %post
post:
  %i = phi i64 [ 0, %prepare ], [ %i_1, %posted ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %post_one, label %work
post_one:
  %helper = getelementptr [LARGEST_POOL x %helper], ptr @helpers, i64 0, i64 %i
  %before = atomicrmw xchg ptr %helper, i64 POSTED acq_rel
  %slept = icmp eq i64 %before, ASLEEP
  br i1 %slept, label %wake, label %posted
wake:
  %its_lock_field = getelementptr %helper, ptr %helper, i32 0, i32 1
  %its_lock = load ptr, ptr %its_lock_field
  call void @PyThread_release_lock(ptr %its_lock)
  br label %posted
posted:
  %i_1 = add i64 %i, 1
  br label %post
work:
  call void @take_pieces(ptr %task)
  br label %retract
retract:
  %k = phi i64 [ 0, %work ], [ %k_1, %retract_one ]
  %retracted = phi i64 [ 0, %work ], [ %retracted_1, %retract_one ]
  %left = icmp slt i64 %k, %count
  br i1 %left, label %retract_one, label %finish
retract_one:
  %late = getelementptr [LARGEST_POOL x %helper], ptr @helpers, i64 0, i64 %k
  %swap = cmpxchg ptr %late, i64 POSTED, i64 IDLE acq_rel acquire
  %swapped = extractvalue { i64, i1 } %swap, 1
  %one = zext i1 %swapped to i64
  %retracted_1 = add i64 %retracted, %one
  %k_1 = add i64 %k, 1
  br label %retract
finish:
  %mine = add i64 %retracted, 1
  %pending = atomicrmw sub ptr @task_pending, i64 %mine acq_rel
  %last = icmp eq i64 %pending, %mine
  br i1 %last, label %leave, label %spin
spin:
  %turn = phi i64 [ 0, %finish ], [ %turn_1, %pause ]
  %open = load atomic i64, ptr @task_pending acquire, align 8
  %over = icmp eq i64 %open, 0
  %tired = icmp uge i64 %turn, CALLER_SPINS
  %stop = or i1 %over, %tired
  br i1 %stop, label %block, label %pause
pause:
  PAUSE
  %turn_1 = add i64 %turn, 1
  br label %spin
block:
  %done = load ptr, ptr @task_done
  %reported = call i32 @PyThread_acquire_lock(ptr %done, i32 1)
  br label %leave
leave:
  store atomic i64 0, ptr @busy release, align 8
  ret void
serial:
  call void %function(ptr %frame, i64 0, i64 %size)
  ret void
}

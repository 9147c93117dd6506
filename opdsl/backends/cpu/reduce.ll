; The driver of reductions. The plan's module brings five functions over sets of accumulators: one set holds, for each
; accumulator of the reduction, an array over lanes. Lanes are neighbouring kept elements, or parts of the elements that
; are folded, which `collapse` then folds into lane 0.
;
; A task is a tile of kept elements and a chunk of what is folded into them. Blocks of the chunk are folded into set 0;
; when enough are in it, it is combined into set 1, of which sixteen make one contribution to set 2, and so on, so that
; rounding errors grow slowly. How elements are grouped depends on the geometry alone, never on threads or alignment.

%reduce_plan = type {
  %plan,  ;  what call.ll reads
  ptr,    ;  1 fold: (set, first lane, element, lanes, lane stride, steps, step stride, index, its lane step, its
          ;    step, numbers)
  ptr,    ;  2 combine: (set, later set, lanes)
  ptr,    ;  3 reset: (set, lanes), to the accumulators of no elements
  ptr,    ;  4 collapse: (set, lanes), a power of two
  ptr,    ;  5 finish: (set, lanes, count, numbers, outputs, strides)
  i64,    ;  6 bytes of a set
  i64,    ;  7 kind: ACROSS lanes are kept elements, ALONG lanes are folded, ORDERED like ALONG with lanes one after another;
          ;    ROWS short contiguous rows, of which a tile has as many as a set has lanes
  i64,    ;  8 lanes of a set
  i64,    ;  9 chunks of each tile
  i64,    ; 10 blocks of each tile
  i64,    ; 11 blocks of each chunk
  i64,    ; 12 blocks of each row
  i64,    ; 13 elements of each block
  i64,    ; 14 elements of each row
  i64,    ; 15 stride in a row
  i64,    ; 16 dimensions around the row
  ptr,    ; 17 their sizes
  ptr,    ; 18 their strides
  i64,    ; 19 number of elements that are folded into each kept one
  i64,    ; 20 tiles
  i64,    ; 21 tiles of each kept row
  i64,    ; 22 elements of each kept row
  ptr,    ; 23 strides in a kept row: of the input, then of the outputs
  i64,    ; 24 dimensions around the kept row
  ptr,    ; 25 their sizes
  ptr,    ; 26 their strides: for each dimension of the input, then of the outputs
  i64,    ; 27 number of outputs
  i64,    ; 28 number of numbers
  ptr     ; 29 rows: (set, set of results, element, rows, row stride, length, numbers)
}

define void @reduce(ptr %frame, i64 %begin, i64 %end) {
entry:
  %plan = load ptr, ptr %frame
  %bytes_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 6
  %bytes = load i64, ptr %bytes_field
  %all_bytes = mul i64 %bytes, 4
  %sets = alloca i8, i64 %all_bytes, align 64
  %outputs_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 27
  %outputs = load i64, ptr %outputs_field
  %moving = add i64 %outputs, 1
  %words = mul i64 %moving, 2
  %slots = alloca i64, i64 %words, align 16
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %loop, label %done
loop:
  %task = phi i64 [ %begin, %entry ], [ %task_1, %loop ]
  call void @reduce_task(ptr %frame, ptr %plan, i64 %task, ptr %sets, ptr %slots)
  %task_1 = add i64 %task, 1
  %more = icmp slt i64 %task_1, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}

; Where a tile begins: addresses of the input and the outputs into `slots`, 16 bytes each. Returns its width.
define internal i64 @reduce_locate(ptr %frame, ptr %plan, i64 %tile, ptr %slots) {
entry:
  %outputs_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 27
  %outputs = load i64, ptr %outputs_field
  %numbers_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 28
  %numbers = load i64, ptr %numbers_field
  %moving = add i64 %outputs, 1
  %input_from = getelementptr i64, ptr %frame, i64 2
  %input = load i64, ptr %input_from
  store i64 %input, ptr %slots
  %skipped = add i64 %numbers, 1
  br label %copy
copy:
  %k = phi i64 [ 1, %entry ], [ %k_1, %copy_one ]
  %more = icmp slt i64 %k, %moving
  br i1 %more, label %copy_one, label %place
copy_one:
  %operand = add i64 %skipped, %k
  %from_word = mul i64 %operand, 2
  %from = getelementptr i64, ptr %frame, i64 %from_word
  %address = load i64, ptr %from
  %to_word = mul i64 %k, 2
  %to = getelementptr i64, ptr %slots, i64 %to_word
  store i64 %address, ptr %to
  %k_1 = add i64 %k, 1
  br label %copy
place:
  %tiles_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 21
  %tiles = load i64, ptr %tiles_field
  %row = udiv i64 %tile, %tiles
  %row_begin = mul i64 %row, %tiles
  %in_row = sub i64 %tile, %row_begin
  %lanes_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 8
  %lanes = load i64, ptr %lanes_field
  %kind_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 7
  %kind = load i64, ptr %kind_field
  %is_across = icmp eq i64 %kind, ACROSS
  %is_rows = icmp eq i64 %kind, ROWS
  %across = or i1 %is_across, %is_rows
  %widest = select i1 %across, i64 %lanes, i64 1
  %column = mul i64 %in_row, %widest
  %length_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 22
  %length = load i64, ptr %length_field
  %left = sub i64 %length, %column
  %width = call i64 @llvm.smin.i64(i64 %left, i64 %widest)
  %steps_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 23
  %steps = load ptr, ptr %steps_field
  call void @move(ptr %slots, ptr %slots, ptr %steps, i64 %column, i64 %moving)
  %dimensions_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 24
  %dimensions = load i64, ptr %dimensions_field
  %sizes_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 25
  %sizes = load ptr, ptr %sizes_field
  %strides_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 26
  %strides = load ptr, ptr %strides_field
  br label %outer
outer:
  %d = phi i64 [ %dimensions, %place ], [ %d_1, %outer_one ]
  %rest = phi i64 [ %row, %place ], [ %rest_1, %outer_one ]
  %inside = icmp sgt i64 %d, 0
  br i1 %inside, label %outer_one, label %end
outer_one:
  %d_1 = sub i64 %d, 1
  %size_place = getelementptr i64, ptr %sizes, i64 %d_1
  %size = load i64, ptr %size_place
  %rest_1 = udiv i64 %rest, %size
  %whole = mul i64 %rest_1, %size
  %index = sub i64 %rest, %whole
  %offset = mul i64 %d_1, %moving
  %d_strides = getelementptr i64, ptr %strides, i64 %offset
  call void @move(ptr %slots, ptr %slots, ptr %d_strides, i64 %index, i64 %moving)
  br label %outer
end:
  ret i64 %width
}

; The offset in bytes of a row of folded elements.
define internal i64 @reduce_row_offset(ptr %plan, i64 %row) alwaysinline {
entry:
  %dimensions_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 16
  %dimensions = load i64, ptr %dimensions_field
  %sizes_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 17
  %sizes = load ptr, ptr %sizes_field
  %strides_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 18
  %strides = load ptr, ptr %strides_field
  br label %outer
outer:
  %d = phi i64 [ %dimensions, %entry ], [ %d_1, %step ]
  %rest = phi i64 [ %row, %entry ], [ %rest_1, %step ]
  %offset = phi i64 [ 0, %entry ], [ %offset_1, %step ]
  %more = icmp sgt i64 %d, 0
  br i1 %more, label %outer_one, label %end
outer_one:
  %d_1 = sub i64 %d, 1
  %outermost = icmp eq i64 %d_1, 0
  br i1 %outermost, label %step, label %divide
divide:
  %size_place = getelementptr i64, ptr %sizes, i64 %d_1
  %size = load i64, ptr %size_place
  %quotient = udiv i64 %rest, %size
  %whole = mul i64 %quotient, %size
  %remainder = sub i64 %rest, %whole
  br label %step
step:
  %rest_1 = phi i64 [ 0, %outer_one ], [ %quotient, %divide ]
  %index = phi i64 [ %rest, %outer_one ], [ %remainder, %divide ]
  %stride_place = getelementptr i64, ptr %strides, i64 %d_1
  %stride = load i64, ptr %stride_place
  %distance = mul i64 %stride, %index
  %offset_1 = add i64 %offset, %distance
  br label %outer
end:
  ret i64 %offset
}

; Fold one block into set 0. Returns how many elements each lane took, at most.
define internal i64 @reduce_block(ptr %frame, ptr %plan, ptr %set, ptr %input, i64 %block, i64 %width) {
entry:
  %numbers = getelementptr i64, ptr %frame, i64 4
  %fold_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 1
  %fold = load ptr, ptr %fold_field
  %collapse_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 4
  %collapse = load ptr, ptr %collapse_field
  %kind_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 7
  %kind = load i64, ptr %kind_field
  %lanes_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 8
  %lanes = load i64, ptr %lanes_field
  %in_row_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 12
  %in_row = load i64, ptr %in_row_field
  %length_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 13
  %block_length = load i64, ptr %length_field
  %row_length_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 14
  %row_length = load i64, ptr %row_length_field
  %stride_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 15
  %stride = load i64, ptr %stride_field
  %row = udiv i64 %block, %in_row
  %row_blocks = mul i64 %row, %in_row
  %in_this = sub i64 %block, %row_blocks
  %start = mul i64 %in_this, %block_length
  %left = sub i64 %row_length, %start
  %length = call i64 @llvm.smin.i64(i64 %left, i64 %block_length)
  %row_offset = call i64 @reduce_row_offset(ptr %plan, i64 %row)
  %start_offset = mul i64 %start, %stride
  %offset = add i64 %row_offset, %start_offset
  %element = getelementptr i8, ptr %input, i64 %offset
  %rows_before = mul i64 %row, %row_length
  %index = add i64 %rows_before, %start
  switch i64 %kind, label %along [ i64 ACROSS, label %across
                                   i64 ORDERED, label %ordered ]
across:
  %kept_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 23
  %kept_strides = load ptr, ptr %kept_field
  %kept_stride = load i64, ptr %kept_strides
  call void %fold(ptr %set, i64 0, ptr %element, i64 %width, i64 %kept_stride, i64 %length, i64 %stride,
                  i64 %index, i64 0, i64 1, ptr %numbers)
  ret i64 %length

along:                                              ; lane k takes elements k, k + lanes ...
  %steps = udiv i64 %length, %lanes
  %done = mul i64 %steps, %lanes
  %step_stride = mul i64 %lanes, %stride
  call void %fold(ptr %set, i64 0, ptr %element, i64 %lanes, i64 %stride, i64 %steps, i64 %step_stride,
                  i64 %index, i64 1, i64 %lanes, ptr %numbers)
  %rest = sub i64 %length, %done
  %no_rest = icmp eq i64 %rest, 0
  br i1 %no_rest, label %along_end, label %along_rest
along_rest:
  %rest_offset = mul i64 %done, %stride
  %rest_element = getelementptr i8, ptr %element, i64 %rest_offset
  %rest_index = add i64 %index, %done
  call void %fold(ptr %set, i64 0, ptr %rest_element, i64 %rest, i64 %stride, i64 1, i64 0, i64 %rest_index, i64 1, i64 0, ptr %numbers)
  br label %along_end
along_end:
  %taken = add i64 %steps, 1
  ret i64 %taken

ordered:                                            ; lane k takes the k-th part of the block
  %part = udiv i64 %length, %lanes
  %parts = mul i64 %part, %lanes
  %part_stride = mul i64 %part, %stride
  call void %fold(ptr %set, i64 0, ptr %element, i64 %lanes, i64 %part_stride, i64 %part, i64 %stride,
                  i64 %index, i64 %part, i64 1, ptr %numbers)
  %over = sub i64 %length, %parts
  %last_lane = sub i64 %lanes, 1
  %over_offset = mul i64 %parts, %stride
  %over_element = getelementptr i8, ptr %element, i64 %over_offset
  %over_index = add i64 %index, %parts
  call void %fold(ptr %set, i64 %last_lane, ptr %over_element, i64 1, i64 0, i64 %over, i64 %stride,
                  i64 %over_index, i64 0, i64 1, ptr %numbers)
  call void %collapse(ptr %set, i64 %lanes)
  ret i64 FULL_SET
}

define internal void @reduce_task(ptr %frame, ptr %plan, i64 %task, ptr %sets, ptr %slots) {
entry:
  %combine_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 2
  %combine = load ptr, ptr %combine_field
  %reset_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 3
  %reset = load ptr, ptr %reset_field
  %collapse_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 4
  %collapse = load ptr, ptr %collapse_field
  %bytes_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 6
  %bytes = load i64, ptr %bytes_field
  %kind_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 7
  %kind = load i64, ptr %kind_field
  %lanes_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 8
  %set_lanes = load i64, ptr %lanes_field
  %chunks_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 9
  %chunks = load i64, ptr %chunks_field
  %blocks_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 10
  %blocks = load i64, ptr %blocks_field
  %chunk_blocks_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 11
  %chunk_blocks = load i64, ptr %chunk_blocks_field
  %counts = alloca [4 x i64]
  call void @llvm.memset.p0.i64(ptr %counts, i8 0, i64 32, i1 false)
  %tile = udiv i64 %task, %chunks
  %tile_tasks = mul i64 %tile, %chunks
  %chunk = sub i64 %task, %tile_tasks
  %width = call i64 @reduce_locate(ptr %frame, ptr %plan, i64 %tile, ptr %slots)
  %input = load ptr, ptr %slots
  %is_rows = icmp eq i64 %kind, ROWS
  br i1 %is_rows, label %short_rows, label %general
short_rows:
  %rows_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 29
  %rows = load ptr, ptr %rows_field
  %steps_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 23
  %steps = load ptr, ptr %steps_field
  %row_stride = load i64, ptr %steps
  %row_length_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 14
  %row_length = load i64, ptr %row_length_field
  %results = getelementptr i8, ptr %sets, i64 %bytes
  %numbers = getelementptr i64, ptr %frame, i64 4
  call void %rows(ptr %sets, ptr %results, ptr %input, i64 %width, i64 %row_stride, i64 %row_length, ptr %numbers)
  call void @reduce_finish(ptr %frame, ptr %plan, ptr %results, i64 %width, ptr %slots)
  ret void

general:
  %across = icmp eq i64 %kind, ACROSS
  %ordered = icmp eq i64 %kind, ORDERED
  %lanes = select i1 %across, i64 %width, i64 %set_lanes
  %kept_lanes = select i1 %ordered, i64 1, i64 %lanes  ; in sets above 0
  call void %reset(ptr %sets, i64 %lanes)
  %first = mul i64 %chunk, %chunk_blocks
  %first_after = add i64 %first, %chunk_blocks
  %after = call i64 @llvm.smin.i64(i64 %first_after, i64 %blocks)
  br label %block
block:
  %b = phi i64 [ %first, %general ], [ %b_1, %next ]
  %in_set = phi i64 [ 0, %general ], [ %in_set_2, %next ]
  %top = phi i64 [ 0, %general ], [ %top_3, %next ]
  %more = icmp slt i64 %b, %after
  br i1 %more, label %block_one, label %gather
block_one:
  %taken = call i64 @reduce_block(ptr %frame, ptr %plan, ptr %sets, ptr %input, i64 %b, i64 %width)
  %in_set_1 = add i64 %in_set, %taken
  %b_1 = add i64 %b, 1
  %full = icmp sge i64 %in_set_1, FULL_SET
  %is_last = icmp eq i64 %b_1, %after
  %not_last = xor i1 %is_last, true
  %push_now = and i1 %full, %not_last
  br i1 %push_now, label %push, label %next

push:                                               ; set `level` into the next one
  %level = phi i64 [ 0, %block_one ], [ %level_1, %pushed ]
  %top_1 = phi i64 [ %top, %block_one ], [ %top_2, %pushed ]
  %level_1 = add i64 %level, 1
  %from_offset = mul i64 %level, %bytes
  %from = getelementptr i8, ptr %sets, i64 %from_offset
  %to_offset = mul i64 %level_1, %bytes
  %to = getelementptr i8, ptr %sets, i64 %to_offset
  %unused = icmp sgt i64 %level_1, %top_1
  br i1 %unused, label %open, label %add
open:
  call void %reset(ptr %to, i64 %kept_lanes)
  br label %add
add:
  %top_2 = phi i64 [ %level_1, %open ], [ %top_1, %push ]
  call void %combine(ptr %to, ptr %from, i64 %kept_lanes)
  %bottom = icmp eq i64 %level, 0
  %reset_lanes = select i1 %bottom, i64 %lanes, i64 %kept_lanes
  call void %reset(ptr %from, i64 %reset_lanes)
  %count_place = getelementptr i64, ptr %counts, i64 %level_1
  %count = load i64, ptr %count_place
  %count_1 = add i64 %count, 1
  %sixteen = icmp eq i64 %count_1, 16
  %can_rise = icmp slt i64 %level_1, 3
  %rise = and i1 %sixteen, %can_rise
  %count_2 = select i1 %rise, i64 0, i64 %count_1
  store i64 %count_2, ptr %count_place
  br label %pushed
pushed:
  br i1 %rise, label %push, label %next
next:
  %in_set_2 = phi i64 [ %in_set_1, %block_one ], [ 0, %pushed ]
  %top_3 = phi i64 [ %top, %block_one ], [ %top_2, %pushed ]
  br label %block

gather:                                             ; higher sets hold earlier elements
  %top_offset = mul i64 %top, %bytes
  %total = getelementptr i8, ptr %sets, i64 %top_offset
  br label %lower
lower:
  %g = phi i64 [ %top, %gather ], [ %g_1, %lower_one ]
  %any_lower = icmp sgt i64 %g, 0
  br i1 %any_lower, label %lower_one, label %gathered
lower_one:
  %g_1 = sub i64 %g, 1
  %lower_offset = mul i64 %g_1, %bytes
  %lower_set = getelementptr i8, ptr %sets, i64 %lower_offset
  call void %combine(ptr %total, ptr %lower_set, i64 %kept_lanes)
  br label %lower
gathered:
  %along = icmp eq i64 %kind, ALONG
  br i1 %along, label %fold_lanes, label %folded
fold_lanes:
  call void %collapse(ptr %total, i64 %lanes)
  br label %folded
folded:
  %alone = icmp eq i64 %chunks, 1
  br i1 %alone, label %finish, label %keep
finish:
  call void @reduce_finish(ptr %frame, ptr %plan, ptr %total, i64 %width, ptr %slots)
  ret void
keep:
  %scratch_bytes = mul i64 %task, %bytes
  %scratch = call ptr @scratch_of(ptr %frame, ptr %plan)
  %place = getelementptr i8, ptr %scratch, i64 %scratch_bytes
  call void %reset(ptr %place, i64 %width)
  call void %combine(ptr %place, ptr %total, i64 %width)
  ret void
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal void @reduce_finish(ptr %frame, ptr %plan, ptr %set, i64 %width, ptr %slots) {
  %finish_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 5
  %finish = load ptr, ptr %finish_field
  %count_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 19
  %count = load i64, ptr %count_field
  %steps_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 23
  %steps = load ptr, ptr %steps_field
  %output_steps = getelementptr i64, ptr %steps, i64 1
  %numbers = getelementptr i64, ptr %frame, i64 4
  %outputs = getelementptr i64, ptr %slots, i64 2
  call void %finish(ptr %set, i64 %width, i64 %count, ptr %numbers, ptr %outputs, ptr %output_steps)
  ret void
}

; After the tasks, when tiles have several chunks: combine them like a tournament, neighbours first.
define void @reduce_complete(ptr %frame) {
entry:
  %plan = load ptr, ptr %frame
  %combine_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 2
  %combine = load ptr, ptr %combine_field
  %bytes_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 6
  %bytes = load i64, ptr %bytes_field
  %chunks_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 9
  %chunks = load i64, ptr %chunks_field
  %tiles_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 20
  %tiles = load i64, ptr %tiles_field
  %outputs_field = getelementptr %reduce_plan, ptr %plan, i32 0, i32 27
  %outputs = load i64, ptr %outputs_field
  %moving = add i64 %outputs, 1
  %words = mul i64 %moving, 2
  %slots = alloca i64, i64 %words, align 16
  %scratch = call ptr @scratch_of(ptr %frame, ptr %plan)
  br label %tile
tile:
  %t = phi i64 [ 0, %entry ], [ %t_1, %complete ]
  %more = icmp slt i64 %t, %tiles
  br i1 %more, label %tile_one, label %done
tile_one:
  %t_1 = add i64 %t, 1
  %width = call i64 @reduce_locate(ptr %frame, ptr %plan, i64 %t, ptr %slots)
  %tile_tasks = mul i64 %t, %chunks
  %tile_offset = mul i64 %tile_tasks, %bytes
  %sets = getelementptr i8, ptr %scratch, i64 %tile_offset
  br label %round
round:
  %gap = phi i64 [ 1, %tile_one ], [ %gap_1, %round_end ]
  %open = icmp slt i64 %gap, %chunks
  br i1 %open, label %pair, label %complete
pair:
  %c = phi i64 [ 0, %round ], [ %c_1, %pair_one ]
  %other = add i64 %c, %gap
  %has_other = icmp slt i64 %other, %chunks
  br i1 %has_other, label %pair_one, label %round_end
pair_one:
  %one_offset = mul i64 %c, %bytes
  %one = getelementptr i8, ptr %sets, i64 %one_offset
  %other_offset = mul i64 %other, %bytes
  %later = getelementptr i8, ptr %sets, i64 %other_offset
  call void %combine(ptr %one, ptr %later, i64 %width)
  %c_1 = add i64 %other, %gap
  br label %pair
round_end:
  %gap_1 = mul i64 %gap, 2
  br label %round
complete:
  call void @reduce_finish(ptr %frame, ptr %plan, ptr %sets, i64 %width, ptr %slots)
  br label %tile
done:
  ret void
}

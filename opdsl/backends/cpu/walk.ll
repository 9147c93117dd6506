; The walk over rows: from elements [begin, end), counted in row-major order of the plan's sizes, to calls of the row
; kernel, which handles elements of the innermost dimension only.
;
; The operands that a row kernel sees have the frame's format: 16 bytes each, an address or a number. Numbers have
; strides of 0, so that they come through unchanged.

%walk_plan = type {
  %plan,  ;    what call.ll reads
  ptr,    ;  1 the row kernel: void (operands, count, strides), count at least 1
  i64,    ;  2 operands
  i64,    ;  3 dimensions, at least 1
  ptr,    ;  4 sizes
  ptr,    ;  5 strides in bytes: for each dimension one for each operand
  i64     ;  6 of walks over tiles: whether the row kernel takes a whole tile
}

define void @walk(ptr %frame, i64 %begin, i64 %end) {
entry:
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %prepare, label %done
prepare:
  %plan = load ptr, ptr %frame
  %row_field = getelementptr %walk_plan, ptr %plan, i32 0, i32 1
  %row = load ptr, ptr %row_field
  %count_field = getelementptr %walk_plan, ptr %plan, i32 0, i32 2
  %count = load i64, ptr %count_field
  %dimensions_field = getelementptr %walk_plan, ptr %plan, i32 0, i32 3
  %dimensions = load i64, ptr %dimensions_field
  %sizes_field = getelementptr %walk_plan, ptr %plan, i32 0, i32 4
  %sizes = load ptr, ptr %sizes_field
  %strides_field = getelementptr %walk_plan, ptr %plan, i32 0, i32 5
  %strides = load ptr, ptr %strides_field
  %slots = getelementptr i8, ptr %frame, i64 16
  %last = sub i64 %dimensions, 1
  %last_offset = mul i64 %last, %count
  %row_strides = getelementptr i64, ptr %strides, i64 %last_offset
  %flat = icmp eq i64 %dimensions, 1
  %from_start = icmp eq i64 %begin, 0
  %whole = and i1 %flat, %from_start
  br i1 %whole, label %at_once, label %general
at_once:
  call void %row(ptr %slots, i64 %end, ptr %row_strides)
  ret void

general:
  %words = mul i64 %count, 2
  %outer_at = alloca i64, i64 %words, align 16      ; the operands at the start of the row
  %row_at = alloca i64, i64 %words, align 16        ; and at the first element to do
  %index = alloca i64, i64 %dimensions
  %bytes = mul i64 %words, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %outer_at, ptr %slots, i64 %bytes, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %row_at, ptr %slots, i64 %bytes, i1 false)
  %inner_place = getelementptr i64, ptr %sizes, i64 %last
  %inner = load i64, ptr %inner_place
  %first_column = urem i64 %begin, %inner
  %first_row = udiv i64 %begin, %inner
  br i1 %flat, label %flat_start, label %locate
flat_start:
  br label %rows

locate:                                             ; the outer indices of `begin`, from the inside out
  %d = phi i64 [ %last, %general ], [ %d_1, %located ]
  %rest = phi i64 [ %first_row, %general ], [ %rest_1, %located ]
  %d_1 = sub i64 %d, 1
  %size_place = getelementptr i64, ptr %sizes, i64 %d_1
  %size = load i64, ptr %size_place
  %index_d = urem i64 %rest, %size
  %rest_1 = udiv i64 %rest, %size
  %index_place = getelementptr i64, ptr %index, i64 %d_1
  store i64 %index_d, ptr %index_place
  %d_offset = mul i64 %d_1, %count
  %d_strides = getelementptr i64, ptr %strides, i64 %d_offset
  call void @move(ptr %outer_at, ptr %outer_at, ptr %d_strides, i64 %index_d, i64 %count)
  br label %located
located:
  %outermost = icmp eq i64 %d_1, 0
  br i1 %outermost, label %rows, label %locate

rows:
  %start_column = phi i64 [ %begin, %flat_start ], [ %first_column, %located ]
  %left = sub i64 %end, %begin
  br label %do_row
do_row:
  %column = phi i64 [ %start_column, %rows ], [ 0, %next_row ]
  %remaining = phi i64 [ %left, %rows ], [ %remaining_1, %next_row ]
  %to_row_end = sub i64 %inner, %column
  %todo = call i64 @llvm.smin.i64(i64 %to_row_end, i64 %remaining)
  call void @move(ptr %row_at, ptr %outer_at, ptr %row_strides, i64 %column, i64 %count)
  call void %row(ptr %row_at, i64 %todo, ptr %row_strides)
  %remaining_1 = sub i64 %remaining, %todo
  %finished = icmp eq i64 %remaining_1, 0
  br i1 %finished, label %done, label %advance

advance:                                            ; like an odometer
  %e = phi i64 [ %last, %do_row ], [ %e_1, %wrap ]
  %e_1 = sub i64 %e, 1
  %e_index_place = getelementptr i64, ptr %index, i64 %e_1
  %e_index = load i64, ptr %e_index_place
  %e_size_place = getelementptr i64, ptr %sizes, i64 %e_1
  %e_size = load i64, ptr %e_size_place
  %e_offset = mul i64 %e_1, %count
  %e_strides = getelementptr i64, ptr %strides, i64 %e_offset
  %e_index_1 = add i64 %e_index, 1
  %inside = icmp slt i64 %e_index_1, %e_size
  br i1 %inside, label %step, label %wrap
step:
  store i64 %e_index_1, ptr %e_index_place
  call void @move(ptr %outer_at, ptr %outer_at, ptr %e_strides, i64 1, i64 %count)
  br label %next_row
wrap:
  store i64 0, ptr %e_index_place
  %back = sub i64 0, %e_index
  call void @move(ptr %outer_at, ptr %outer_at, ptr %e_strides, i64 %back, i64 %count)
  br label %advance
next_row:
  br label %do_row
done:
  ret void
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

; The walk over bands [begin, end) of tiles, for operands of which some lie along the last dimension and some along the
; one before: a band is TILE_ROWS rows of the innermost matrix, and goes through the row kernel TILE_COLUMNS columns at a
; time, so that the lines of memory that its rows begin are still in the first cache when the next row needs them.
define void @walk_tiles(ptr %frame, i64 %begin, i64 %end) {
entry:
  %plan = load ptr, ptr %frame
  %row_field = getelementptr %walk_plan, ptr %plan, i32 0, i32 1
  %row = load ptr, ptr %row_field
  %count_field = getelementptr %walk_plan, ptr %plan, i32 0, i32 2
  %count = load i64, ptr %count_field
  %dimensions_field = getelementptr %walk_plan, ptr %plan, i32 0, i32 3
  %dimensions = load i64, ptr %dimensions_field
  %sizes_field = getelementptr %walk_plan, ptr %plan, i32 0, i32 4
  %sizes = load ptr, ptr %sizes_field
  %strides_field = getelementptr %walk_plan, ptr %plan, i32 0, i32 5
  %strides = load ptr, ptr %strides_field
  %slots = getelementptr i8, ptr %frame, i64 16
  %turns_field = getelementptr %walk_plan, ptr %plan, i32 0, i32 6
  %turns_word = load i64, ptr %turns_field
  %turns = icmp ne i64 %turns_word, 0
  %last = sub i64 %dimensions, 1
  %last_offset = mul i64 %last, %count
  %column_strides = getelementptr i64, ptr %strides, i64 %last_offset
  %columns_place = getelementptr i64, ptr %sizes, i64 %last
  %columns = load i64, ptr %columns_place
  %before = sub i64 %dimensions, 2
  %before_offset = mul i64 %before, %count
  %row_strides = getelementptr i64, ptr %strides, i64 %before_offset
  %rows_place = getelementptr i64, ptr %sizes, i64 %before
  %rows = load i64, ptr %rows_place
  %rows_less = sub i64 %rows, 1
  %rows_up = add i64 %rows_less, TILE_ROWS
  %bands = udiv i64 %rows_up, TILE_ROWS
  %words = mul i64 %count, 2
  %bytes = mul i64 %words, 8
  %band_at = alloca i64, i64 %words, align 16       ; the operands at the start of the band
  %tile_at = alloca i64, i64 %words, align 16       ; and in the tile
  call void @llvm.memcpy.p0.p0.i64(ptr %band_at, ptr %slots, i64 %bytes, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %tile_at, ptr %slots, i64 %bytes, i1 false)
  br label %next_band

next_band:
  %number = phi i64 [ %begin, %entry ], [ %number_1, %band_done ]
  %any = icmp slt i64 %number, %end
  br i1 %any, label %band, label %done
band:
  %matrix = udiv i64 %number, %bands
  %band_number = urem i64 %number, %bands
  %first_row = mul i64 %band_number, TILE_ROWS
  call void @move(ptr %band_at, ptr %slots, ptr %row_strides, i64 %first_row, i64 %count)
  br label %locate
locate:                                             ; the matrix among the outer dimensions, from the inside out
  %d = phi i64 [ %before, %band ], [ %d_1, %located ]
  %rest = phi i64 [ %matrix, %band ], [ %rest_1, %located ]
  %outermost = icmp eq i64 %d, 0
  br i1 %outermost, label %tiles, label %located
located:
  %d_1 = sub i64 %d, 1
  %size_place = getelementptr i64, ptr %sizes, i64 %d_1
  %size = load i64, ptr %size_place
  %index = urem i64 %rest, %size
  %rest_1 = udiv i64 %rest, %size
  %d_offset = mul i64 %d_1, %count
  %d_strides = getelementptr i64, ptr %strides, i64 %d_offset
  call void @move(ptr %band_at, ptr %band_at, ptr %d_strides, i64 %index, i64 %count)
  br label %locate

tiles:
  %rows_left = sub i64 %rows, %first_row
  %height = call i64 @llvm.smin.i64(i64 %rows_left, i64 TILE_ROWS)
  br label %next_tile
next_tile:
  %column = phi i64 [ 0, %tiles ], [ %column_1, %tile_done ]
  %any_columns = icmp slt i64 %column, %columns
  br i1 %any_columns, label %tile, label %band_done
tile:
  %columns_left = sub i64 %columns, %column
  %width = call i64 @llvm.smin.i64(i64 %columns_left, i64 TILE_COLUMNS)
  call void @move(ptr %tile_at, ptr %band_at, ptr %column_strides, i64 %column, i64 %count)
  br i1 %turns, label %turn, label %tile_row
turn:                                               ; a kernel that takes the whole tile
  call void %row(ptr %tile_at, i64 %width, ptr %column_strides, i64 %height, ptr %row_strides)
  br label %tile_done
tile_row:
  %r = phi i64 [ 0, %tile ], [ %r_1, %tile_row ]
  call void %row(ptr %tile_at, i64 %width, ptr %column_strides)
  call void @move(ptr %tile_at, ptr %tile_at, ptr %row_strides, i64 1, i64 %count)
  %r_1 = add i64 %r, 1
  %more_rows = icmp slt i64 %r_1, %height
  br i1 %more_rows, label %tile_row, label %tile_done
tile_done:
  %column_1 = add i64 %column, TILE_COLUMNS
  br label %next_tile
band_done:
  %number_1 = add i64 %number, 1
  br label %next_band
done:
  ret void
}

; target[k] = source[k] + strides[k] * steps
define internal void @move(ptr %target, ptr %source, ptr %strides, i64 %steps, i64 %count) alwaysinline {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k_1, %loop ]
  %word = mul i64 %k, 2
  %from_place = getelementptr i64, ptr %source, i64 %word
  %from = load i64, ptr %from_place
  %stride_place = getelementptr i64, ptr %strides, i64 %k
  %stride = load i64, ptr %stride_place
  %distance = mul i64 %stride, %steps
  %to = add i64 %from, %distance
  %to_place = getelementptr i64, ptr %target, i64 %word
  store i64 %to, ptr %to_place
  %k_1 = add i64 %k, 1
  %more = icmp slt i64 %k_1, %count
  br i1 %more, label %loop, label %end
end:
  ret void
}

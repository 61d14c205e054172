-- What scripts share that change the index. Each gets it in front of its own text.
--
-- KEYS[1] is the prefix of all keys. A script checks everything before its first write:
-- what it has written is not taken back if it fails.
local P = KEYS[1]
local call, sub, byte = redis.call, string.sub, string.byte

-- The place of an id: sequence (8 bytes), number of lists (2), lists (8 each), and, if
-- there are any, the order key (16); then the thread.
local function lists(place)
	local hi, lo = byte(place, 9, 10)
	return hi * 256 + lo
end

local function owner(place)
	local n = lists(place)
	if n == 0 then return sub(place, 11) end
	return sub(place, 27 + n * 8)
end

-- each calls a command on every list that the place is in.
local function each(command, place)
	local n = lists(place)
	if n == 0 then return end
	local seq, order, thread = sub(place, 1, 8), sub(place, 11 + n * 8, 26 + n * 8), owner(place)
	local function on(key, member)
		if command == 'ZADD' then call('ZADD', key, 0, member) else call('ZREM', key, member) end
	end
	on(P .. 'o', order .. seq .. thread)
	on(P .. 'c:' .. thread, seq .. order)
	for i = 0, n - 1 do
		on(P .. 'l:' .. sub(place, 11 + i * 8, 18 + i * 8), order .. seq .. thread)
	end
end

local function unindex(id, place)
	call('HDEL', P .. 'i', id)
	each('ZREM', place)
end

-- gates returns the rows of open gates: list (8 bytes), length of the id (1), id.
local function gates(rows)
	local found, at = {}, 1
	while at <= #rows do
		local last = at + 8 + byte(rows, at + 8)
		found[sub(rows, at, last)] = true
		at = last + 1
	end
	return found
end

-- The record of a thread: sequence and hash of the tail (40 bytes), whether it is active
-- (1), when it is due (8), the size of the rows of its open gates (4), those, and the
-- summary. summarise replaces the old record, '' for none, by the new one, '' for none.
local function head(record)
	if record == '' then return '0', ('\0'):rep(8), '' end
	local a, b, c, d = byte(record, 50, 53)
	return sub(record, 41, 41), sub(record, 42, 49), sub(record, 54, 53 + ((a * 256 + b) * 256 + c) * 256 + d)
end

local function summarise(thread, old, new, due)
	local wasActive, wasDue, wasOpen = head(old)
	local isActive, isDue, isOpen = head(new)
	if new == '' then
		call('DEL', P .. 't:' .. thread)
		call('ZREM', P .. 'names', thread)
	else
		call('SET', P .. 't:' .. thread, new)
		if old == '' then call('ZADD', P .. 'names', 0, thread) end
	end
	if isActive ~= wasActive then
		if isActive == '1' then call('ZADD', P .. 'active', 0, thread) else call('ZREM', P .. 'active', thread) end
	end
	if isDue ~= wasDue then
		if due ~= '' then call('ZADD', P .. 'due', due, thread) else call('ZREM', P .. 'due', thread) end
	end
	if isOpen ~= wasOpen then
		local was, is = gates(wasOpen), gates(isOpen)
		for row in pairs(was) do
			if not is[row] then call('ZREM', P .. 'g:' .. sub(row, 1, 8), sub(row, 10) .. '\0' .. thread) end
		end
		for row in pairs(is) do
			if not was[row] then call('ZADD', P .. 'g:' .. sub(row, 1, 8), 0, sub(row, 10) .. '\0' .. thread) end
		end
	end
end

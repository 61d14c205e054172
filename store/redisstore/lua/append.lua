-- Appends entries of one thread, all or none.
-- ARGV: thread, its record when all are appended, when it is due or '', then for each
-- entry: the tail that it follows (40 bytes), sequence (8), entry, bodies, the number of
-- ids that it drops, those, the number of ids that it brings, and for each of those id,
-- place, and '1' if it may replace one.
-- Returns {0}, or {1, tail} for another tail, or {2, id, place} for an id that is taken, or
-- {3, tail} if all are there already.
local thread, record, due = ARGV[1], ARGV[2], ARGV[3]
local I, E, B = P .. 'i', P .. 'e:' .. thread, P .. 'b:' .. thread
local old = call('GET', P .. 't:' .. thread) or ''
local tail = old == '' and ('\0'):rep(40) or sub(old, 1, 40)

local entries, at = {}, 4
while at <= #ARGV do
	local e = {after = ARGV[at], seq = ARGV[at + 1], value = ARGV[at + 2], bodies = ARGV[at + 3], drops = {}, ids = {}}
	at = at + 5
	for _ = 1, tonumber(ARGV[at - 1]) do
		e.drops[#e.drops + 1] = ARGV[at]
		at = at + 1
	end
	at = at + 1
	for _ = 1, tonumber(ARGV[at - 1]) do
		e.ids[#e.ids + 1] = {ARGV[at], ARGV[at + 1], ARGV[at + 2] == '1'}
		at = at + 3
	end
	entries[#entries + 1] = e
end

-- What is there already is passed over. The tail counts even if its bytes were removed.
local first = 1
if tail ~= entries[1].after then
	while first <= #entries do
		local e = entries[first]
		local hash, have = sub(e.value, 1, 32), call('HGET', E, e.seq)
		if not (have and sub(have, 1, 32) == hash or tail == e.seq .. hash) then break end
		first = first + 1
	end
	if first > #entries then return {3, tail} end
	if entries[first].after ~= tail then return {1, tail} end
end

local ours = {} -- whether an id leads to this thread once the entries before are appended
for n = first, #entries do
	local e = entries[n]
	for _, id in ipairs(e.ids) do
		local place = call('HGET', I, id[1])
		local there, mine = place, place and owner(place) == thread
		if ours[id[1]] ~= nil then there, mine = ours[id[1]], true end
		if there and not (mine and id[3]) then return {2, id[1], place or ''} end
	end
	if n < #entries then
		for _, id in ipairs(e.drops) do
			local place = call('HGET', I, id)
			if ours[id] ~= nil or place and owner(place) == thread then ours[id] = false end
		end
		for _, id in ipairs(e.ids) do ours[id[1]] = true end
	end
end

local commit
for n = first, #entries do
	local e = entries[n]
	call('HSET', E, e.seq, e.value)
	if e.bodies ~= '' then call('HSET', B, e.seq, e.bodies) end
	call('ZADD', P .. 's:' .. thread, 0, e.seq)
	for _, id in ipairs(e.drops) do
		local place = call('HGET', I, id)
		if place and owner(place) == thread then unindex(id, place) end
	end
	for _, id in ipairs(e.ids) do
		local place = call('HGET', I, id[1])
		if place then unindex(id[1], place) end
		call('HSET', I, id[1], id[2])
		each('ZADD', id[2])
	end
	commit = call('INCR', P .. 'commit')
	call('ZADD', P .. 'commits', commit, e.seq .. thread)
end
summarise(thread, old, record, due)
call('PUBLISH', P .. 'news', commit)
return {0}

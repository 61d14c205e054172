-- Makes an empty store, unless there is one or ARGV[2] is ''.
-- ARGV: the format's number, the name of this store's life.
-- Returns both as they are.
local meta = KEYS[1] .. 'meta'
if ARGV[2] ~= '' and redis.call('EXISTS', meta) == 0 then
	redis.call('HSET', meta, 'format', ARGV[1], 'life', ARGV[2])
elseif ARGV[2] ~= '' and redis.call('HGET', meta, 'format') == '1' then
	redis.call('HSET', meta, 'format', ARGV[1])
end
return redis.call('HMGET', meta, 'format', 'life')

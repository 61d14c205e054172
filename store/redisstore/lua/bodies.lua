-- Replaces an entry's bodies if the entry is as it was read.
-- ARGV: thread, sequence (8 bytes), the entry as it was, as it is to be, its bodies or ''.
local E, B = KEYS[1] .. 'e:' .. ARGV[1], KEYS[1] .. 'b:' .. ARGV[1]
if redis.call('HGET', E, ARGV[2]) ~= ARGV[3] then return 0 end
redis.call('HSET', E, ARGV[2], ARGV[4])
if ARGV[5] == '' then
	redis.call('HDEL', B, ARGV[2])
else
	redis.call('HSET', B, ARGV[2], ARGV[5])
end
return 1

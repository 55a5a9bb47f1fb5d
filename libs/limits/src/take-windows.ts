/**
 * Takes room in rate windows, in one step that nothing comes between. ARGV holds five values for each request: `{owner}:{config}`, the channel, the cost, and the limits of a minute and of a day
 * (0: none). Answers for each `false`, or which window is full and the milliseconds until it opens. The windows are Redis' own minutes and UTC days, whatever the clocks of the callers say.
 * Something is written in any case, so that a Redis that takes no writes is seen by who has no window, too. Every key lives a little longer than its window.
 */
export const TAKE_WINDOWS = `
local now = redis.call('TIME')
local seconds = tonumber(now[1])
local ms = seconds * 1000 + math.floor(tonumber(now[2]) / 1000)
local windows = { { name = 'min', length = 60 }, { name = 'daily', length = 86400 } }
redis.call('SET', 'rl:alive', '1', 'PX', 60000)
local full = {}
local answers = {}
for at = 1, #ARGV, 5 do
	local id = ARGV[at]
	local cost = tonumber(ARGV[at + 2])
	local taken = {}
	local denial = full[id]
	if not denial then
		for n, window in ipairs(windows) do
			local limit = tonumber(ARGV[at + 2 + n])
			if limit > 0 then
				local number = math.floor(seconds / window.length)
				local key = 'rl:' .. ARGV[at + 1] .. ':' .. window.name .. ':' .. id .. ':' .. string.format('%d', number)
				local share = math.min(cost, limit)
				if tonumber(redis.call('GET', key) or '0') + share > limit then
					denial = { window.name, (number + 1) * window.length * 1000 - ms }
				else
					taken[#taken + 1] = { key = key, share = share, life = window.length * 2 }
				end
			end
		end
	end
	if denial then
		full[id] = denial
		answers[#answers + 1] = denial
	else
		for _, one in ipairs(taken) do
			redis.call('INCRBY', one.key, one.share)
			redis.call('EXPIRE', one.key, one.life)
		end
		answers[#answers + 1] = false
	end
end
return answers`;

/** Reads how the two windows of one config stand. ARGV: `{owner}:{config}`, the channel. Answers what is used of the minute and of the day, and the end of each in milliseconds since 1970. */
export const READ_WINDOWS = `
local seconds = tonumber(redis.call('TIME')[1])
local answers = {}
for _, window in ipairs({ { name = 'min', length = 60 }, { name = 'daily', length = 86400 } }) do
	local number = math.floor(seconds / window.length)
	local key = 'rl:' .. ARGV[2] .. ':' .. window.name .. ':' .. ARGV[1] .. ':' .. string.format('%d', number)
	answers[#answers + 1] = tonumber(redis.call('GET', key) or '0')
	answers[#answers + 1] = (number + 1) * window.length * 1000
end
return answers`;

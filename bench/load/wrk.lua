-- Sends what the environment describes, and prints what wrk found out as one line of JSON.
wrk.method = os.getenv("BENCH_METHOD") or "GET"
wrk.headers["Host"] = os.getenv("BENCH_HOST")
local file = os.getenv("BENCH_BODY_FILE")
if file ~= nil then
  local handle = io.open(file, "rb")
  wrk.body = handle:read("*a")
  handle:close()
  wrk.headers["Content-Type"] = os.getenv("BENCH_CONTENT_TYPE")
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\nBENCH {"requests":%d,"us":%d,"bytes":%d,"bad":%d,"p50us":%d,"p99us":%d}\n',
    summary.requests, summary.duration, summary.bytes,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end

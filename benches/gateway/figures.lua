-- What a run of wrk found, as one line of JSON.
function done(summary, latency)
    local errors = summary.errors
    local failed = errors.connect + errors.read + errors.write + errors.status + errors.timeout
    io.write(string.format(
        '{"requests":%d,"seconds":%.6f,"failed":%d,"p50_us":%.1f,"p99_us":%.1f}\n',
        summary.requests, summary.duration / 1e6, failed, latency:percentile(50), latency:percentile(99)))
end

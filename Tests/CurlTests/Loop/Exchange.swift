import Curl
import TransferTestSupport

/// An origin and a loop for one test.
final class Exchange: Sendable {
    let origin: LoopbackOrigin
    let loop: CurlLoop

    init(connectionsMax: Int = 64) throws {
        origin = try LoopbackOrigin()
        loop = try CurlLoop(name: "curl-test", connectionsMax: connectionsMax)
    }

    deinit {
        loop.stop()
        origin.stop()
    }

    /// Returns a request for a path of the origin.
    func request(_ path: String, method: String = "GET", body: [UInt8]? = nil) -> CurlRequest {
        CurlRequest(url: origin.url(path), method: method, body: body, egress: .everywhere)
    }

    /// Runs one transfer against a script and returns everything that the sink got.
    ///
    /// A request with a timeout so short that the origin may be too late for what is under test is
    /// run again for as long as `isTooLate` says so of the record.
    func run(
        _ script: OriginScript,
        _ change: (inout CurlRequest) -> Void = { _ in },
        again isTooLate: (RecordingSink.Record) -> Bool = { _ in false }
    ) async -> (record: RecordingSink.Record, code: CurlError.Code?) {
        origin.when("/", script)
        var request = request("/")
        change(&request)
        while true {
            let sink = RecordingSink()
            loop.start(request, sink: sink)
            let result = await sink.result
            let record = sink.record
            // The time limit of the suite cancels the test.
            if Task.isCancelled || !isTooLate(record) { return (record, result?.code) }
        }
    }
}

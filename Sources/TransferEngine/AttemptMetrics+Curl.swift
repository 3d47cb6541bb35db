import Curl
import TransferModel

extension AttemptMetrics {
    /// Takes over what libcurl has measured of the latest request.
    mutating func note(_ result: Result<CurlSummary, CurlError>) {
        let summary =
            switch result {
            case .success(let summary): summary
            case .failure(let error): error.summary
            }
        nameLookup = summary.timings.nameLookup
        connect = summary.timings.connect
        tls = summary.timings.tls
        firstByte = summary.timings.firstByte
        total = summary.timings.total
        isConnectionReused = summary.isConnectionReused
        httpVersion = summary.httpVersion
        remoteAddress = summary.primaryAddress
    }
}

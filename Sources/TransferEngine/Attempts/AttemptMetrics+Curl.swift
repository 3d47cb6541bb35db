import Curl
import TransferModel

extension AttemptMetrics {
    /// Adopts what libcurl has measured of the latest request.
    mutating func note(_ result: Result<CurlSummary, CurlError>) {
        let summary = result.summary
        nameLookup = summary.timings.nameLookup
        connect = summary.timings.connect
        tls = summary.timings.tls
        requestStart = summary.timings.requestStart
        requestEnd = summary.timings.requestEnd
        firstByte = summary.timings.firstByte
        total = summary.timings.total
        isConnectionReused = summary.isConnectionReused
        httpVersion = summary.httpVersion
        remoteAddress = summary.primaryAddress
        remotePort = summary.primaryPort.map(Int.init)
        localAddress = summary.localAddress
        localPort = summary.localPort.map(Int.init)
        requestHeaderBytes = summary.requestHeaderBytes
        requestBodyBytes = summary.bytesSent
        responseHeaderBytes = summary.responseHeaderBytes
        responseBodyBytes = summary.bytesReceived
    }
}

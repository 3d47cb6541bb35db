import Curl
import Testing
import TransferModel

@testable import TransferEngine

/// The connections of one download whose origin refuses parts.
@Suite struct SegmentsTests {
    private static let total: Int64 = 1000
    private static let refusal = ResponseHead(status: 412)
    private static let broken = Result<CurlSummary, CurlError>.failure(CurlError(.aborted))

    private static func segments(
        written: ByteRangeSet = ByteRangeSet(),
        first: Range<Int64> = 0..<total
    ) -> Segments {
        Segments(
            etag: #""v1""#,
            coding: nil,
            total: total,
            written: written,
            range: first,
            connectionsMax: 4,
            triesAll: false,
            settings: Segments.Settings(bytesMin: 100, connectionsFirst: 4),
            latency: .zero,
            at: .now
        )
    }

    @Test func aResponseThatHasBegunBringsWhatIsRefused() {
        var segments = Self.segments()
        #expect(segments.join()?.range == 500..<1000)
        #expect(segments.join()?.range == 250..<500)
        // So that the first one does not end where this one starts.
        _ = segments.advance(2, by: 50)
        let isAccepted = segments.accepts(Self.refusal, on: 1)
        #expect(!isAccepted)
        guard case .leave = segments.ended(1, Self.broken) else {
            Issue.record("the others do not continue")
            return
        }
        #expect(segments.place(of: Segments.lead)?.room == 1000)
        #expect(segments.place(of: 2)?.room == 200)
        // The second one has brought its part, and there is no other for it.
        _ = segments.advance(2, by: 200)
        guard case .leave = segments.ended(2, .success(CurlSummary())) else {
            Issue.record("the first one does not continue alone")
            return
        }
        _ = segments.advance(Segments.lead, by: 1000)
        guard case .over(.whole) = segments.ended(Segments.lead, .success(CurlSummary())) else {
            Issue.record("the file is not whole")
            return
        }
    }

    /// On a fast line the first response may be at its end before others have begun.
    @Test func theFirstResponseIsNotLeftForPartsThatMayBeRefused() {
        var segments = Self.segments()
        #expect(segments.join()?.range == 500..<1000)
        let isLeft = segments.advance(Segments.lead, by: 500)
        #expect(!isLeft)
        #expect(segments.place(of: Segments.lead)?.room == 500)
        _ = segments.advance(Segments.lead, by: 500)
        guard case .stop = segments.ended(Segments.lead, .success(CurlSummary())) else {
            Issue.record("the other one continues")
            return
        }
        guard case .over(.whole) = segments.ended(1, Self.broken) else {
            Issue.record("the file is not whole")
            return
        }
    }

    @Test func theFirstResponseIsLeftForAPartThatHasBegun() {
        var segments = Self.segments()
        #expect(segments.join()?.range == 500..<1000)
        _ = segments.advance(Segments.lead, by: 500)
        let part = ResponseHead(
            status: 206,
            headers: [("ETag", #""v1""#), ("Content-Range", "bytes 500-999/1000")]
        )
        let isAccepted = segments.accepts(part, on: 1)
        #expect(isAccepted)
        #expect(segments.place(of: Segments.lead)?.room == 0)
    }

    @Test func whatNoResponseBringsStopsTheDownload() {
        var segments = Self.segments(written: ByteRangeSet(600..<700), first: 0..<600)
        #expect(segments.join()?.range == 700..<1000)
        let isAccepted = segments.accepts(Self.refusal, on: 1)
        #expect(!isAccepted)
        guard case .stop = segments.ended(1, Self.broken) else {
            Issue.record("the first one continues")
            return
        }
    }
}

import Testing

@testable import Curl

@Suite
struct UploadTests {
    private func upload(body: [UInt8]? = nil, source: DripSource? = nil) -> Upload {
        var request = CurlRequest(url: "https://example.com/", body: body, egress: .everywhere)
        request.bodySource = source
        return Upload(request)
    }

    @Test func nothingToSendIsWholeAtOnce() {
        #expect(upload().isWhole)
        #expect(upload(body: []).isWhole)
        #expect(!upload(body: [1]).isWhole)
    }

    @Test func knownLengthIsWholeWhenSent() {
        var upload = upload(source: DripSource(count: 10, pause: .zero))
        #expect(upload.send(upTo: 9) == 9)
        #expect(!upload.isWhole)
        #expect(upload.send(upTo: 10) == 1)
        #expect(upload.isWhole)
        #expect(upload.send(upTo: 10) == 0)
    }

    @Test func unknownLengthIsWholeWhenSourceHasEnded() {
        var upload = upload(source: DripSource(count: 10, pause: .zero, hasLength: false))
        upload.read(10)
        _ = upload.send(upTo: 14)
        #expect(!upload.isWhole)
        upload.read(0)
        #expect(upload.isWhole)
    }

    @Test func noMoreIsReadThanWasAnnounced() {
        var upload = upload(source: DripSource(count: 10, pause: .zero))
        #expect(upload.mayRead(10))
        upload.read(6)
        #expect(upload.mayRead(4))
        #expect(!upload.mayRead(5))
        upload.restart()
        #expect(upload.mayRead(10))
        let endless = self.upload(source: DripSource(count: 1, pause: .zero, hasLength: false))
        #expect(endless.mayRead(1000))
    }

    @Test func restartForgetsWhatWasSent() {
        var upload = upload(body: [1, 2])
        _ = upload.send(upTo: 2)
        upload.restart()
        #expect(!upload.isWhole)
        #expect(upload.send(upTo: 1) == 1)
    }
}

import Testing

@testable import TransferClient

@Suite struct RecentMessagesTests {
    @Test func remembersTheNewestUpToItsBound() {
        var recent = RecentMessages(countMax: 3)
        for number in 0..<10 {
            #expect(recent.begin("\(number)") == .new)
            recent.end("\(number)", isDone: true)
        }
        for number in 7..<10 { #expect(recent.begin("\(number)") == .done) }
        #expect(recent.begin("6") == .new)
    }

    @Test func remembersNothingWithoutRoom() {
        var recent = RecentMessages(countMax: 0)
        for _ in 0..<2 {
            #expect(recent.begin("a") == .new)
            #expect(recent.begin("a") == .inProgress)
            recent.end("a", isDone: true)
        }
    }
}

import Foundation
import Synchronization
import Testing
import TransferClient

@testable import TransferURLSession

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

@Suite struct ExchangeStateMachineTests {
    private static func tell(_ action: ExchangeStateMachine.Action) {
        for step in action.steps {
            switch step {
            case .resume, .cancel: continue
            case .tellHead(let waiter, let head): waiter.resume(returning: head)
            case .tellPart(let reader, let part): reader.resume(returning: part)
            }
        }
    }

    /// The alarm for the head may go off after all of a short response has arrived, and before
    /// anybody has read it.
    @Test func aLateAlarmTakesNothingFromAResponse() async throws {
        let machine = Mutex(ExchangeStateMachine(waitingBytesMax: 100))
        let url = try #require(URL(string: "http://127.0.0.1/"))
        let task = URLSession.shared.dataTask(with: url)
        let response = try #require(
            HTTPURLResponse(url: url, statusCode: 200, httpVersion: nil, headerFields: nil)
        )
        let head = await withCheckedContinuation { waiter in
            Self.tell(machine.withLock { $0.start(task, waiter) })
            Self.tell(machine.withLock { $0.headReceived(response) })
            Self.tell(machine.withLock { $0.bytesReceived(Data("all".utf8)) })
            Self.tell(machine.withLock { $0.ended(nil) })
            Self.tell(machine.withLock { $0.headIsLate(TransportFailure(.timedOut, "late")) })
        }
        #expect(try head.get().statusCode == 200)
        for expected in [Array("all".utf8), nil] {
            let part = await withCheckedContinuation { reader in
                Self.tell(machine.withLock { $0.read(reader) })
            }
            #expect(try part.get() == expected)
        }
    }
}

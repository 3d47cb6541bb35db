import Foundation
import TransferClient

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Where a request and its response are; without I/O.
struct ExchangeStateMachine: ~Copyable {
    typealias Head = Result<HTTPURLResponse, TransportFailure>
    typealias HeadWaiter = CheckedContinuation<Head, Never>
    typealias Part = Result<[UInt8]?, TransportFailure>
    typealias Reader = CheckedContinuation<Part, Never>

    /// What is to be done once the lock is free: first with the task, then for who waits.
    struct Action {
        enum Step {
            case resume(URLSessionDataTask)
            case cancel(URLSessionDataTask)
            case tellHead(HeadWaiter, Head)
            case tellPart(Reader, Part)
        }

        var steps: [Step] = []

        static let none = Action()
    }

    private enum State {
        /// Nothing was sent.
        case new
        /// The request was sent, and its response has not started.
        case awaitingHead(URLSessionDataTask, HeadWaiter)
        /// The response has started, and a reader may wait for its next bytes.
        case receiving(URLSessionDataTask, Reader?)
        /// Nothing more arrives; a failure tells why there is not all of it.
        case over(TransportFailure?)
    }

    private var state = State.new
    /// The bytes that wait for a reader.
    private var waiting: [UInt8] = []
    private let waitingBytesMax: Int

    init(waitingBytesMax: Int) { self.waitingBytesMax = waitingBytesMax }

    /// Sends the request, unless it was stopped before.
    mutating func start(_ task: URLSessionDataTask, _ waiter: HeadWaiter) -> Action {
        switch state {
        case .new:
            state = .awaitingHead(task, waiter)
            return Action(steps: [.resume(task)])
        case .over(let failure?):
            return Action(steps: [.cancel(task), .tellHead(waiter, .failure(failure))])
        case .awaitingHead, .receiving, .over:
            preconditionFailure("a request is sent once")
        }
    }

    mutating func headReceived(_ response: HTTPURLResponse) -> Action {
        guard case .awaitingHead(let task, let waiter) = state else { return .none }
        let coding = response.value(forHTTPHeaderField: "Content-Encoding")?.lowercased()
        guard coding == nil || coding == "identity" else {
            return stop(TransportFailure(.unusable, "URLSession would decode the response."))
        }
        state = .receiving(task, nil)
        return Action(steps: [.tellHead(waiter, .success(response))])
    }

    mutating func bytesReceived(_ data: Data) -> Action {
        guard case .receiving(let task, let reader) = state, !data.isEmpty else { return .none }
        if let reader {
            state = .receiving(task, nil)
            return Action(steps: [.tellPart(reader, .success([UInt8](data)))])
        }
        waiting += data
        guard waiting.count > waitingBytesMax else { return .none }
        state = .over(TransportFailure(.broken, "The response arrives faster than it is used."))
        return Action(steps: [.cancel(task)])
    }

    /// Hands over the bytes that wait, or lets the reader wait for the next ones.
    mutating func read(_ reader: Reader) -> Action {
        if !waiting.isEmpty {
            defer { waiting = [] }
            return Action(steps: [.tellPart(reader, .success(waiting))])
        }
        switch state {
        case .receiving(let task, nil):
            state = .receiving(task, reader)
            return .none
        case .over(let failure):
            return Action(steps: [.tellPart(reader, Self.end(failure))])
        case .new, .awaitingHead, .receiving:
            preconditionFailure("a response has one reader")
        }
    }

    /// The request has ended by itself.
    mutating func ended(_ failure: TransportFailure?) -> Action {
        switch state {
        case .awaitingHead(_, let waiter):
            let failure = failure ?? TransportFailure(.broken, "There was no response.")
            state = .over(failure)
            return Action(steps: [.tellHead(waiter, .failure(failure))])
        case .receiving(_, let reader):
            state = .over(failure)
            return Action(steps: reader.map { [.tellPart($0, Self.end(failure))] } ?? [])
        case .new, .over: return .none
        }
    }

    /// The time for the start of the response is over.
    mutating func headIsLate(_ failure: TransportFailure) -> Action {
        switch state {
        case .new, .awaitingHead: return stop(failure)
        // It started just in time, and may already have all of its bytes here.
        case .receiving, .over: return .none
        }
    }

    /// Nobody wants the response any longer.
    mutating func stop(_ failure: TransportFailure) -> Action {
        defer { waiting = [] }
        switch state {
        case .new:
            state = .over(failure)
            return .none
        case .awaitingHead(let task, let waiter):
            state = .over(failure)
            return Action(steps: [.cancel(task), .tellHead(waiter, .failure(failure))])
        case .receiving(let task, let reader):
            state = .over(failure)
            let told: [Action.Step] = reader.map { [.tellPart($0, .failure(failure))] } ?? []
            return Action(steps: [.cancel(task)] + told)
        case .over: return .none
        }
    }

    private static func end(_ failure: TransportFailure?) -> Part {
        failure.map { .failure($0) } ?? .success(nil)
    }
}

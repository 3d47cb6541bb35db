import TransferModel

/// The state outside the database at one moment of a ``DeliverySearch``.
///
/// It holds the memory of dispatchers, the messages that receivers have got, and the events that
/// may still happen.
struct DeliverySearchWorld {
    /// A claim as its dispatcher knows it.
    struct Held {
        let claim: DeliveryClaim
        /// The sequence of the last event that was taken.
        var cursor: Int64
        /// The sequence up to which the dispatcher knows that the store has recorded deliveries.
        var recorded: Int64
    }

    /// A process; while others act it sleeps, for any length of time.
    struct Dispatcher {
        let incarnation: Int32
        var held: [Held] = []
        /// Whether the process runs; false at the end of the path.
        var isRunning = true
    }

    /// The remaining number of occurrences of each kind of event on the path.
    struct Allowance: Hashable {
        var takeovers = 0
        /// The number of times that the leases of all claims run out at once.
        var expiries = 0
        /// The number of changes, and of messages, whose answer is lost.
        var lostAnswers = 0
        /// The number of messages that a receiver does not take.
        var refusals = 0
        /// The number of claims that are given back before everything was delivered, as by a
        /// dispatcher that stops.
        var earlyReleases = 0
        /// The number of times that all existing events expire.
        var expiredLogs = 0
    }

    /// The actions of a client, in this order.
    enum Write: Hashable {
        case submit
        /// Ends the only task, and with it the generation.
        case cancel
    }

    var dispatchers: [Dispatcher] = []
    /// The last event that each receiver has taken or that was reported to it as expired, like all
    /// before it.
    var taken: [Int64] = [0, 0]
    /// The events that each receiver has taken.
    var received: [Set<Int64>] = [[], []]
    var writes: [Write] = [.submit, .cancel]
    var allowance = Allowance()
    /// Whether the first dispatcher has claimed; the other one is like it, and so need not be
    /// first.
    var hasBegun = false

    /// Ends a process and drops its memory.
    mutating func end(_ number: Int) {
        dispatchers[number].isRunning = false
        dispatchers[number].held = []
    }
}

/// A possible next step in a ``DeliverySearch``; dispatchers and their claims by number.
enum DeliverySearchStep: Hashable {
    case write
    case claim(Int, isHeard: Bool)
    /// The receiver takes all available messages.
    case send(Int, Int, isHeard: Bool)
    /// The receiver refuses a message.
    case refuse(Int, Int)
    case record(Int, Int, isHeard: Bool)
    case release(Int, Int, isHeard: Bool)
    case takeOver(Int)
    case expire
    case expireLog
}

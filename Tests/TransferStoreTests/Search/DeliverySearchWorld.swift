import TransferModel

/// All that is not in the database at one moment of a ``DeliverySearch``: what dispatchers remember,
/// what receivers have got, and what may still happen.
struct DeliverySearchWorld {
    /// A claim as its dispatcher knows it.
    struct Held {
        let claim: DeliveryClaim
        /// The last event that was taken.
        var cursor: Int64
        /// As far as the dispatcher knows that the store knows.
        var recorded: Int64
    }

    /// A process; while others act it sleeps, for however long that takes.
    struct Dispatcher {
        let incarnation: Int32
        var held: [Held] = []
        /// False at the end of the way.
        var isRunning = true
    }

    /// How often each thing may still happen on the way.
    struct Allowance: Hashable {
        var takeovers = 0
        /// Leases that run out, of all claims at once.
        var expiries = 0
        /// Changes that are made while their answer is lost, and messages that are.
        var lostAnswers = 0
        /// Messages that a receiver does not take.
        var refusals = 0
        /// Claims that are given back before all was delivered, as by a dispatcher that stops.
        var earlyReleases = 0
        /// How often all events that there are expire.
        var expiredLogs = 0
    }

    /// What a client does, in this order.
    enum Write: Hashable {
        case submit
        /// Ends the only task, and with it the generation.
        case cancel
    }

    var dispatchers: [Dispatcher] = []
    /// The last event that each receiver has taken, or was told that it expired, as all before it.
    var taken: [Int64] = [0, 0]
    /// Those that each has taken.
    var received: [Set<Int64>] = [[], []]
    var writes: [Write] = [.submit, .cancel]
    var allowance = Allowance()
    /// Whether the first dispatcher has claimed: the other is like it, so that it need not be first.
    var hasBegun = false

    /// Ends a process and forgets what it knew.
    mutating func end(_ number: Int) {
        dispatchers[number].isRunning = false
        dispatchers[number].held = []
    }
}

/// What may happen next in a ``DeliverySearch``; dispatchers and their claims by number.
enum DeliverySearchStep: Hashable {
    case write
    case claim(Int, isHeard: Bool)
    /// The receiver takes all messages that there are.
    case send(Int, Int, isHeard: Bool)
    /// The receiver does not.
    case refuse(Int, Int)
    case record(Int, Int, isHeard: Bool)
    case release(Int, Int, isHeard: Bool)
    case takeOver(Int)
    case expire
    case expireLog
}

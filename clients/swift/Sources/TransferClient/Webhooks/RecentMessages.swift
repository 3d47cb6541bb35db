/// The identifiers of the messages that a receiver has dealt with, up to a bound.
struct RecentMessages: Sendable {
    /// What is known of a message.
    enum Standing: Sendable {
        case new, inProgress, done
    }

    private let countMax: Int
    private var done: Set<String> = []
    private var order: [String] = []
    private var oldest = 0
    private var inProgress: Set<String> = []

    init(countMax: Int) { self.countMax = countMax }

    /// Returns what is known of a message; a new one is in progress from then on.
    mutating func begin(_ id: String) -> Standing {
        if done.contains(id) { return .done }
        return inProgress.insert(id).inserted ? .new : .inProgress
    }

    /// Ends the work for a message; one that failed is new when it comes again.
    mutating func end(_ id: String, isDone: Bool) {
        inProgress.remove(id)
        guard isDone, countMax > 0, done.insert(id).inserted else { return }
        guard order.count == countMax else {
            order.append(id)
            return
        }
        done.remove(order[oldest])
        order[oldest] = id
        oldest = (oldest + 1) % countMax
    }
}

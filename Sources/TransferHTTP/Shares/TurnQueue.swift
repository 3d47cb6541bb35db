import DequeModule

/// Elements of several owners, which take turns: an element waits behind those of its own owner,
/// and behind one of each other owner.
///
/// An owner that had nothing for a whole round goes first, like a new queue in FQ-CoDel (RFC 8290,
/// §4.2): whoever has little is served as if those with much were not there.
struct TurnQueue<Owner: Hashable, Element> {
    /// The elements of the owners in ``newcomers`` and ``round``; an owner with none left stays
    /// until its turn comes.
    private var waiting: [Owner: Deque<Element>] = [:]
    /// The owners that had nothing, in the order in which they came.
    private var newcomers = Deque<Owner>()
    /// The owners that had their first turn, the next one first.
    private var round = Deque<Owner>()

    mutating func append(_ element: Element, of owner: Owner) {
        if waiting[owner] == nil { newcomers.append(owner) }
        waiting[owner, default: []].append(element)
    }

    /// Takes the element whose turn it is; nil if there are none.
    mutating func popFirst() -> Element? {
        if let owner = newcomers.popFirst() { return take(of: owner) }
        while let owner = round.popFirst() {
            if let element = take(of: owner) { return element }
        }
        return nil
    }

    /// Takes an element of `owner`, whose next turn is the last of the round; removes the owner if
    /// it has none.
    private mutating func take(of owner: Owner) -> Element? {
        guard let element = waiting[owner]?.popFirst() else {
            waiting[owner] = nil
            return nil
        }
        round.append(owner)
        return element
    }
}

/// A field of a cron expression.
enum CronField: Int, CaseIterable, Sendable {
    case minute, hour, day, month, weekday

    /// A set of small numbers.
    struct Values: Equatable, Sendable {
        private var bits: UInt64 = 0

        mutating func insert(_ number: Int) { bits |= 1 << UInt64(number) }

        func contains(_ number: Int) -> Bool { bits & (1 << UInt64(number)) != 0 }
    }

    private var range: ClosedRange<Int> {
        switch self {
        case .minute: 0...59
        case .hour: 0...23
        case .day: 1...31
        case .month: 1...12
        // 7 is Sunday, as 0 is.
        case .weekday: 0...7
        }
    }

    /// The names of the numbers from the first on.
    private var names: [String] {
        switch self {
        case .minute, .hour, .day: []
        case .month:
            ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
        case .weekday: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
        }
    }

    /// Reads the field: a list of `*`, numbers and ranges, each with an optional step.
    func values(_ text: ArraySlice<UInt8>) throws(CronExpression.SyntaxError) -> Values {
        var values = Values()
        for part in text.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false) {
            let pieces = part.split(
                separator: UInt8(ascii: "/"),
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            var bounds = try bounds(pieces[0])
            var step = 1
            if pieces.count == 2 {
                step = try number(pieces[1], in: 1...range.upperBound, named: [])
                // `5/10` begins at 5 and has no other end than the field's.
                if bounds.count == 1, !pieces[0].contains(UInt8(ascii: "-")) {
                    // Only 7, the other number of Sunday, is after the last one.
                    bounds = bounds.lowerBound...max(bounds.lowerBound, lastNumber)
                }
            }
            for number in stride(from: bounds.lowerBound, through: bounds.upperBound, by: step) {
                values.insert(self == .weekday ? number % 7 : number)
            }
        }
        return values
    }

    /// The last number that `*` stands for.
    private var lastNumber: Int { self == .weekday ? 6 : range.upperBound }

    private func bounds(
        _ text: ArraySlice<UInt8>
    ) throws(CronExpression.SyntaxError) -> ClosedRange<Int> {
        if text.elementsEqual("*".utf8) { return range.lowerBound...lastNumber }
        let ends = text.split(
            separator: UInt8(ascii: "-"),
            maxSplits: 1,
            omittingEmptySubsequences: false
        )
        let first = try number(ends[0], in: range, named: names)
        guard ends.count == 2 else { return first...first }
        let last = try number(ends[1], in: range, named: names)
        guard first <= last else {
            throw CronExpression.SyntaxError(
                offset: text.startIndex,
                message: "A range begins with its smaller number."
            )
        }
        return first...last
    }

    private func number(
        _ text: ArraySlice<UInt8>,
        in range: ClosedRange<Int>,
        named names: [String]
    ) throws(CronExpression.SyntaxError) -> Int {
        let word = String(decoding: text, as: UTF8.self)
        if let place = names.firstIndex(of: word.lowercased()) {
            return self.range.lowerBound + place
        }
        let isNumber =
            !text.isEmpty && text.count <= 2
            && text.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isNumber, let number = Int(word), range.contains(number) else {
            throw CronExpression.SyntaxError(
                offset: text.startIndex,
                message: "The \(self) has numbers from \(range.lowerBound) to \(range.upperBound)."
            )
        }
        return number
    }
}

/// The columns of a result by their names; if a name occurs twice, the first, as in libpq.
///
/// A row of a claim asks for thirty, and `Dictionary` hashes each name with a key that strangers
/// cannot guess, which takes longer than all the rest of reading a number. Names come from our own
/// statements, so that a sum of a few bytes will do.
struct ColumnTable {
    struct Column {
        let index: Int
        let type: PostgresType
    }

    private var columns: [(name: String, column: Column)?] = []
    /// The number of places, a power of two and at least twice that of the columns, less one.
    private let mask: Int

    /// Creates the table of a result; without one it has no columns.
    init(_ result: ResultHandle?) {
        let count = result?.columnCount ?? 0
        var places = 2
        while places < 2 * count { places *= 2 }
        mask = places - 1
        columns = Array(repeating: nil, count: places)
        guard let result else { return }
        for index in 0..<count {
            let name = result.columnName(index)
            let place = place(of: name)
            if columns[place] == nil {
                columns[place] = (name, Column(index: index, type: result.columnType(index)))
            }
        }
    }

    subscript(name: String) -> Column? { columns[place(of: name)]?.column }

    /// Returns the place of a name, or the free one where it would be.
    private func place(of name: String) -> Int {
        let bytes = name.utf8
        var place = bytes.count &* 5
        if let first = bytes.first, let last = bytes.last {
            place &+= Int(first) &* 3 &+ Int(last) &* 7
        }
        place &= mask
        while let other = columns[place]?.name, other != name { place = (place + 1) & mask }
        return place
    }
}

import Postgres
import Testing

@Suite struct QueryTests {
    @Test func valuesBecomeNumberedPlaceholders() {
        let query: Query = "SELECT a FROM t WHERE id = \(7) AND name = \("x'; DROP TABLE t")"
        #expect(query.sql == "SELECT a FROM t WHERE id = $1 AND name = $2")
        #expect(query.binds.map(\.type) == [.int8, .text])
        #expect(query.binds[0].bytes == [0, 0, 0, 0, 0, 0, 0, 7])
    }

    @Test func aPartKeepsItsValuesBehindThoseOfTheWhole() {
        let numbers = (1...12).map(Int64.init)
        let part: Query = """
            \(numbers[0]), \(numbers[1]), \(numbers[2]), \(numbers[3]), \(numbers[4]), \(numbers[5]),
            \(numbers[6]), \(numbers[7]), \(numbers[8]), \(numbers[9]), '$', 'ä$x', \(numbers[10])
            """
        let first: Query = "SELECT \(part), \(numbers[11])"
        #expect(
            first.sql == """
                SELECT $1, $2, $3, $4, $5, $6,
                $7, $8, $9, $10, '$', 'ä$x', $11, $12
                """
        )
        let later: Query = "SELECT \(numbers[11]), \(part)"
        #expect(
            later.sql == """
                SELECT $1, $2, $3, $4, $5, $6, $7,
                $8, $9, $10, $11, '$', 'ä$x', $12
                """
        )
        #expect(first.binds.map(\.bytes?.last) == (1...12).map(Optional.init))
        #expect(later.binds.map(\.bytes?.last) == ([12] + (1...11)).map(Optional.init))
    }

    @Test func nilIsBoundWithItsType() {
        let query: Query = "SELECT \(nil as Int32?)"
        #expect(query.binds[0].type == .int4)
        #expect(query.binds[0].bytes == nil)
    }

    @Test func identifiersAreQuoted() {
        let query: Query = "SELECT 1 FROM \(identifier: "a\"b c\0")"
        #expect(query.sql == "SELECT 1 FROM \"a\"\"b c\"")
        #expect(query.binds.isEmpty)
    }
}

import Foundation
import Postgres
import Testing
import TransferTestSupport

@Suite(.postgresSchema, .timeLimit(.minutes(5))) struct RoundTripTests {
    /// Sends a value through the server, which returns it in its declared type.
    private func roundTrip<Value: PostgresEncodable & PostgresDecodable>(
        _ value: Value
    ) async throws -> Value {
        let connection = try await TestDatabase.current.connection()
        let rows = try await connection.execute("SELECT \(value) AS value")
        return try rows[0].decode("value")
    }

    /// Returns a value as the server writes it as text.
    private func text(_ value: some PostgresEncodable) async throws -> String? {
        let connection = try await TestDatabase.current.connection()
        let rows = try await connection.execute("SELECT \(value)::text AS value")
        return try rows[0].decodeIfPresent("value")
    }

    @Test func booleans() async throws {
        #expect(try await roundTrip(true))
        #expect(try await !roundTrip(false))
        #expect(try await text(true) == "true")
    }

    @Test func integersWithTheirLimits() async throws {
        for value in [Int16.min, -1, 0, .max] { #expect(try await roundTrip(value) == value) }
        for value in [Int32.min, -1, 0, .max] { #expect(try await roundTrip(value) == value) }
        for value in [Int64.min, -1, 0, .max] { #expect(try await roundTrip(value) == value) }
        for value in [Int.min, -1, 0, .max] { #expect(try await roundTrip(value) == value) }
        #expect(try await text(Int.min) == "-9223372036854775808")
        #expect(try await text(Int32(-7)) == "-7")
        #expect(try await text(Int16(300)) == "300")
    }

    /// However many there are and however alike; of two with one name the first, as in libpq.
    @Test func columnsAreFoundByTheirNames() async throws {
        let names = (0..<120).map { "ab\($0 / 3)\($0 % 3)z" } + ["a", "é", "a b"]
        var columns: Query = "0::int8 AS twice, 1::int8 AS twice"
        for (value, name) in names.enumerated() {
            columns = "\(columns), \(Int64(value)) AS \(identifier: name)"
        }
        let connection = try await TestDatabase.current.connection()
        let row = try await connection.execute("SELECT \(columns)")[0]
        for (value, name) in names.enumerated() {
            #expect(try row.decode(name, as: Int.self) == value)
        }
        #expect(try row.decode("twice", as: Int.self) == 0)
        for name in ["", "ab", "ab00", "abz", "z", "b"] {
            #expect(throws: PostgresError.self) { try row.decode(name, as: Int.self) }
        }
    }

    @Test func narrowIntegersAreReadAsWideOnes() async throws {
        let connection = try await TestDatabase.current.connection()
        let row = try await connection.execute("SELECT \(Int16(-3)) AS a, \(Int32(-4)) AS b")[0]
        #expect(try row.decode("a", as: Int.self) == -3)
        #expect(try row.decode("a", as: Int32.self) == -3)
        #expect(try row.decode("b", as: Int64.self) == -4)
        #expect(throws: PostgresError.self) { try row.decode("b", as: Int16.self) }
    }

    @Test func doubles() async throws {
        for value in [0, -0.1, .greatestFiniteMagnitude, .infinity, .leastNonzeroMagnitude] {
            #expect(try await roundTrip(value) == value)
        }
        #expect(try await roundTrip(Double.nan).isNaN)
        #expect(try await text(1.5) == "1.5")
    }

    @Test(arguments: ["", "plain", "ünïcödé 🚀 e\u{301}", "quote ' and \\ and $1", "\u{1}\n\t"])
    func texts(value: String) async throws {
        let back = try await roundTrip(value)
        #expect(Array(back.utf8) == Array(value.utf8))
    }

    @Test func nulInTextIsRefusedBeforeAnythingIsSent() async throws {
        let connection = try await TestDatabase.current.connection()
        for query in ["SELECT \("a\0b")", "SELECT \(["a\0b"])"] as [Query] {
            let failure = await #expect(throws: PostgresError.self) {
                try await connection.execute(query)
            }
            #expect(failure?.code == .encoding)
        }
        #expect(try await connection.execute("SELECT 1 AS one").count == 1)
    }

    @Test func bytes() async throws {
        let every = (0...255).map { UInt8($0) }
        #expect(try await roundTrip(every) == every)
        #expect(try await roundTrip([UInt8]()) == [])
        #expect(try await text([UInt8]([0, 255])) == "\\x00ff")
    }

    /// Texts that PostgreSQL keeps as bytes, whatever characters they have.
    @Test func textsAsBytes() async throws {
        let texts = ["", "plain", "nul \u{0} inside", "e\u{301} \u{E9} 🚀"]
        for text in texts {
            #expect(Array(try await roundTrip(text.utf8)) == Array(text.utf8))
        }
        #expect(try await text("\u{0}é".utf8) == "\\x00c3a9")
        let values: [String.UTF8View?] = [texts[2].utf8, nil, texts[3].utf8]
        let back = try await roundTrip(values)
        #expect(back.map { $0.map(Array.init) } == values.map { $0.map(Array.init) })
        let connection = try await TestDatabase.current.connection()
        let row = try await connection.execute("SELECT '\\xff'::bytea AS bytes, 'a'::text AS text")[
            0
        ]
        for column in ["bytes", "text"] {
            #expect(throws: PostgresError.self) {
                try row.decode(column, as: String.UTF8View.self)
            }
        }
    }

    @Test func uuids() async throws {
        let value = UUID()
        #expect(try await roundTrip(value) == value)
        #expect(try await text(value) == value.uuidString.lowercased())
    }

    @Test func datesToTheMicrosecond() async throws {
        // The server's own clock has microseconds, which our conversion must preserve.
        let connection = try await TestDatabase.current.connection()
        let date: Date = try await connection.execute("SELECT now() AS now")[0].decode("now")
        let same = try await connection.execute(
            """
            SELECT \(Date(timeIntervalSince1970: 1_700_000_000.123456)) =
                '2023-11-14 22:13:20.123456+00'::timestamptz AS same,
                \(Date(timeIntervalSince1970: -0.5)) = '1969-12-31 23:59:59.5+00' AS negative
            """
        )[0]
        #expect(try same.decode("same", as: Bool.self))
        #expect(try same.decode("negative", as: Bool.self))
        #expect(try await roundTrip(date) == date)
        #expect(try await roundTrip(Date.distantPast) == .distantPast)
        #expect(try await roundTrip(Date.distantFuture) == .distantFuture)
    }

    @Test func datesOutsideOfTheirTypeAreRefused() async throws {
        let connection = try await TestDatabase.current.connection()
        for seconds in [Double.infinity, .nan, 1e15] {
            let failure = await #expect(throws: PostgresError.self) {
                try await connection.execute("SELECT \(Date(timeIntervalSince1970: seconds))")
            }
            #expect(failure?.code == .encoding)
        }
        let row = try await connection.execute("SELECT 'infinity'::timestamptz AS never")[0]
        #expect(throws: PostgresError.self) { try row.decode("never", as: Date.self) }
    }

    @Test func jsonTexts() async throws {
        let value = JSONText(text: #"{"a": [1, "ü", null]}"#)
        #expect(try await roundTrip(value) == value)
        let connection = try await TestDatabase.current.connection()
        let row = try await connection.execute(#"SELECT '{"b":  2}'::json AS value"#)[0]
        #expect(try row.decode("value", as: JSONText.self).text == #"{"b":  2}"#)
    }

    @Test func arrays() async throws {
        #expect(try await roundTrip([1, -2, 3] as [Int]) == [1, -2, 3])
        #expect(try await roundTrip(["a", "", "ü,{}\""]) == ["a", "", "ü,{}\""])
        #expect(try await roundTrip([true, false]) == [true, false])
        #expect(try await roundTrip([Int16(1), 2]) == [1, 2])
        #expect(try await roundTrip([Int32(1), 2]) == [1, 2])
        #expect(try await roundTrip([1.5, -0.25]) == [1.5, -0.25])
        let identifiers = [UUID(), UUID()]
        #expect(try await roundTrip(identifiers) == identifiers)
        let dates = [Date(timeIntervalSince1970: 1), Date(timeIntervalSince1970: 2)]
        #expect(try await roundTrip(dates) == dates)
        #expect(try await roundTrip([[1, 2], []] as [[UInt8]]) == [[1, 2], []])
        let documents = [JSONText(text: "1"), JSONText(text: "{}")]
        #expect(try await roundTrip(documents) == documents)
    }

    /// Some values are too long to be copied, and there are more of them than are left in place.
    @Test func manyLongValues() async throws {
        let values = (0..<24).map { number in
            String(repeating: "\(number) ", count: number % 3 == 0 ? 10 : 60_000)
        }
        var query: Query = "SELECT md5(string_agg(v, '')) AS sum FROM (VALUES (''::text)"
        for value in values { query = "\(query), (\(value)::text)" }
        query = "\(query)) AS x (v)"
        let connection = try await TestDatabase.current.connection()
        let rows = try await connection.execute(query)
        let joined = values.joined()
        let expected = try await connection.execute("SELECT md5(\(joined)) AS sum")
        #expect(
            try rows[0].decode("sum", as: String.self)
                == expected[0].decode("sum", as: String.self)
        )
    }

    @Test func emptyArrays() async throws {
        #expect(try await roundTrip([Int]()) == [])
        #expect(try await roundTrip([String]()) == [])
        #expect(try await roundTrip([UUID?]()) == [])
        #expect(try await text([Int]()) == "{}")
    }

    @Test func arraysWithNulls() async throws {
        #expect(try await roundTrip([1, nil, 3] as [Int?]) == [1, nil, 3])
        #expect(try await roundTrip([nil, "a"] as [String?]) == [nil, "a"])
        #expect(try await text([1, nil] as [Int?]) == "{1,NULL}")
        let connection = try await TestDatabase.current.connection()
        let row = try await connection.execute("SELECT \([1, nil] as [Int?]) AS value")[0]
        #expect(throws: PostgresError.self) { try row.decode("value", as: [Int].self) }
    }

    @Test func arraysOfTwoDimensionsAreRefused() async throws {
        let connection = try await TestDatabase.current.connection()
        let row = try await connection.execute("SELECT '{{1,2},{3,4}}'::int8[] AS value")[0]
        #expect(throws: PostgresError.self) { try row.decode("value", as: [Int].self) }
    }

    @Test func nulls() async throws {
        let connection = try await TestDatabase.current.connection()
        let row = try await connection.execute(
            "SELECT \(nil as Int?) AS a, \(Optional("b")) AS b, \(nil as [String]?) AS c"
        )[0]
        #expect(try row.decodeIfPresent("a", as: Int.self) == nil)
        #expect(try row.decodeIfPresent("b", as: String.self) == "b")
        #expect(try row.decodeIfPresent("c", as: [String].self) == nil)
        let failure = #expect(throws: PostgresError.self) { try row.decode("a", as: Int.self) }
        #expect(failure?.code == .decoding)
    }

    @Test func enumsAsTheirRawValues() async throws {
        let connection = try await TestDatabase.current.connection()
        try await connection.executeScript("CREATE TYPE mood AS ENUM ('happy', 'sad', 'odd')")
        let row = try await connection.execute(
            """
            SELECT \(Mood.sad)::mood AS one, \([Mood.happy, .sad])::mood[] AS many,
                'odd'::mood AS odd
            """
        )[0]
        #expect(try row.decode("one", as: Mood.self) == .sad)
        #expect(try row.decode("many", as: [Mood].self) == [.happy, .sad])
        let failure = #expect(throws: PostgresError.self) { try row.decode("odd", as: Mood.self) }
        #expect(failure?.description.contains("odd") == true)
    }

    @Test func missingColumnAndWrongTypeAreErrorsThatNameTheColumn() async throws {
        let connection = try await TestDatabase.current.connection()
        let row = try await connection.execute("SELECT \("value") AS label")[0]
        for column in ["missing", "label"] {
            let failure = #expect(throws: PostgresError.self) {
                try row.decode(column, as: Int.self)
            }
            #expect(failure?.code == .decoding)
            #expect(failure?.description.contains(column) == true)
            #expect(failure?.description.contains("value") == false)
        }
    }
}

private enum Mood: String, PostgresScalar {
    case happy
    case sad
}

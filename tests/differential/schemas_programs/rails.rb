# Loads the schema of the tests of Active Record: rails.rb PORT DATABASE DIRECTORY

require "active_record"
require "active_record/connection_adapters/mysql2_adapter"

# Skips a statement that the server refuses by name (1235). CREATE TABLE runs again without its
# indexes of expressions and full texts.
module Refusals
  FULLTEXT = /,\s*FULLTEXT INDEX `\w+`\s+\([^()]*\)/
  EXPRESSION = /,\s*(?:UNIQUE )?INDEX `\w+`\s+\((?=\()(?:[^()]|(\((?:[^()]|\g<1>)*\)))*\)/

  def execute(sql, name = nil)
    super
  rescue ActiveRecord::StatementInvalid => error
    raise unless error.cause.respond_to?(:error_number) && error.cause.error_number == 1235
    reduced = sql.gsub(EXPRESSION, "").gsub(FULLTEXT, "")
    reduced == sql ? nil : execute(reduced, name)
  end
end
ActiveRecord::ConnectionAdapters::Mysql2Adapter.prepend(Refusals)

# Functions and models of the tests that the schema calls.
def current_adapter?(*types)
  types.include?(:Mysql2Adapter)
end

def supports_default_expression?
  true
end
%w(College Course Professor OtherDog).each do |name|
  Object.const_set(name, Class.new(ActiveRecord::Base))
end

port, database, directory = ARGV
ActiveRecord::Base.establish_connection(adapter: "mysql2", host: "127.0.0.1", port: port.to_i,
                                        username: "root", database: database, encoding: "utf8mb4")
ActiveRecord::Schema.verbose = false
%w(schema.rb mysql2_specific_schema.rb).each { |name| load File.join(directory, name) }

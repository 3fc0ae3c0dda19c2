"""PyMySQL under the name of mysqlclient, which needs a C library."""

import sys

import pymysql
import pymysql.converters

pymysql.converters.DateTime2literal = pymysql.converters.escape_datetime
del sys.modules["MySQLdb"]
pymysql.install_as_MySQLdb()
sys.modules["MySQLdb.converters"] = pymysql.converters

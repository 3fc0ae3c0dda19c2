"""The private MariaDB of a bench."""

import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Reference:
    """A MariaDB of against-mariadb.sh, which runs until its command reads the end of the input."""

    def __init__(self):
        script = os.path.join(ROOT, "tests", "clients", "against-mariadb.sh")
        command = [script, "sh", "-c", 'echo "$SOCKET"; exec cat']
        self.process = subprocess.Popen(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.socket = self.process.stdout.readline().strip()
        if not self.socket:
            sys.exit("MariaDB did not start")

    def stop(self):
        self.process.stdin.close()
        self.process.wait()

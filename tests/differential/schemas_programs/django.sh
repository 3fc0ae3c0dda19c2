#!/usr/bin/env bash
# The tables of Django's contrib applications, by their migrations.
# shellcheck source=environment.sh
. "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
run() {
    cat >settings.py <<SETTINGS
SECRET_KEY = "none"
INSTALLED_APPS = ["django.contrib." + name for name in (
    "admin", "auth", "contenttypes", "flatpages", "messages", "redirects", "sessions", "sites")]
SITE_ID = 1
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": {"ENGINE": "django.db.backends.mysql", "HOST": "127.0.0.1",
                         "PORT": $port, "USER": "root", "NAME": "$database"}}
SETTINGS
    export PYTHONPATH=$PYTHONPATH:$home
    exec "$venv/bin/python" -m django migrate --settings settings --skip-checks --verbosity 0
}
main "$@"

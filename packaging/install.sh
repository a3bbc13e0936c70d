#!/bin/sh
# Installs the atoll binary as a service, or takes it away again. Doing it twice is doing it once.
set -eu

usage() {
  cat <<'END'
usage: install.sh [options]             install or upgrade
       install.sh uninstall [options]   remove the binary and the service; data and configuration stay

  --binary FILE    the binary to install (default: dist/atoll or ./atoll beside this script)
  --prefix DIR     the binary goes to DIR/bin (default: /usr/local)
  --root DIR       put everything below DIR and touch nothing else: no user, no systemctl
  --data DIR       data directory of the service (default: /var/lib/atoll)
  --user NAME      user that the service runs as, made if missing (default: atoll)
  --no-service     the binary alone; needs no root when --prefix can be written
  --no-start       install the service, but do not enable or start it
  --purge          with uninstall: the data, the configuration and the user, too
  --dry-run        print what would be done
  --help           print this
END
}

say() { printf '%s\n' "$*"; }
die() {
  printf 'install.sh: %s\n' "$*" >&2
  exit 1
}
misused() {
  printf 'install.sh: %s\n' "$*" >&2
  usage >&2
  exit 2
}

# Every change goes through here, so that --dry-run shows exactly what would happen.
run() {
  if [ "$dry_run" = yes ]; then
    say "would run: $*"
  else
    "$@"
  fi
}

here=$(cd "$(dirname "$0")" && pwd -P)
action=install
binary=
prefix=/usr/local
root=
data=/var/lib/atoll
user=atoll
service=yes
start=yes
purge=no
dry_run=no

while [ $# -gt 0 ]; do
  case $1 in
    --binary | --prefix | --root | --data | --user)
      [ $# -ge 2 ] || misused "$1 needs a value"
      case $1 in
        --binary) binary=$2 ;;
        --prefix) prefix=$2 ;;
        --root) root=$2 ;;
        --data) data=$2 ;;
        --user) user=$2 ;;
      esac
      shift
      ;;
    --no-service) service=no ;;
    --no-start) start=no ;;
    --purge) purge=yes ;;
    --dry-run) dry_run=yes ;;
    --help | -h)
      usage
      exit 0
      ;;
    install | uninstall) action=$1 ;;
    *) misused "unknown argument $1" ;;
  esac
  shift
done

# These words become part of a unit file, where a blank or a percent sign means something else.
for path in "$prefix" "$data"; do
  case $path in
    *[!A-Za-z0-9/._-]* | *..*) die "$path: use letters, digits, '/', '.', '_' and '-' only" ;;
    /?*) ;;
    *) die "$path: use an absolute path below /" ;;
  esac
done
case $root in
  '' | /*) ;;
  *) die "--root $root: use an absolute path" ;;
esac
root=${root%/}
case $user in
  root) die "--user root: the service must not run as root" ;;
  '' | [!a-z_]* | *[!a-z0-9_-]*) die "--user $user: that is no user name" ;;
esac
if [ "$service" = yes ] && [ -z "$root" ] && [ "$dry_run" = no ] && [ "$(id -u)" -ne 0 ]; then
  die "a service needs root: use sudo, or --no-service with a --prefix of your own"
fi

program=$root$prefix/bin/atoll
unit=$root/etc/systemd/system/atoll.service
config=$root/etc/atoll/atoll.host.json
# Only a machine that systemd runs has this directory.
if [ "$service" = yes ] && [ -z "$root" ] && [ -d /run/systemd/system ]; then systemd=yes; else systemd=no; fi

find_binary() {
  if [ -n "$binary" ]; then
    [ -f "$binary" ] || die "there is no file $binary; name the binary with --binary"
    return
  fi
  for binary in "$here/../dist/atoll" "$here/atoll"; do
    if [ -f "$binary" ]; then return; fi
  done
  die "no binary found; build one with 'npm run build', or name it with --binary"
}

# Beside its place and then renamed: a running binary cannot be written to, and no half of one is ever started.
put_binary() {
  run install -d -m 755 "$root$prefix/bin"
  run install -m 755 "$binary" "$program.new"
  run mv -f "$program.new" "$program"
}

ensure_user() {
  if [ -n "$root" ] || id -u "$user" >/dev/null 2>&1; then return; fi
  if command -v useradd >/dev/null 2>&1; then
    run useradd --system --user-group --no-create-home --home-dir "$data" --shell /usr/sbin/nologin "$user"
  elif command -v adduser >/dev/null 2>&1; then
    # BusyBox.
    run addgroup -S "$user"
    run adduser -S -D -H -h "$data" -s /sbin/nologin -G "$user" "$user"
  else
    die "neither useradd nor adduser is there; make the user $user yourself and run this again"
  fi
}

put_data_directory() {
  if [ -n "$root" ]; then
    run install -d -m 700 "$root$data"
  else
    run install -d -m 700 -o "$user" -g "$(group_of_user)" "$data"
  fi
}

# A user that --dry-run did not make has no group yet.
group_of_user() {
  id -gn "$user" 2>/dev/null || printf '%s\n' "$user"
}

put_config() {
  run install -d -m 755 "$root/etc/atoll"
  # Whoever changed it keeps it. It may come to hold credentials of artifact origins, so only the service reads it.
  if [ -e "$config" ]; then
    say "keeping $config"
  elif [ -n "$root" ]; then
    run install -m 640 "$here/atoll.host.json" "$config"
  else
    run install -m 640 -g "$(group_of_user)" "$here/atoll.host.json" "$config"
  fi
}

# The unit in this folder is for the defaults; other places and users are written into it here.
unit_text() {
  state=
  # systemd makes and owns directories below /var/lib by name; another one has to be opened for writing.
  case $data in
    /var/lib/?*) state=${data#/var/lib/} ;;
  esac
  sed -e "s|^ExecStart=.*|ExecStart=$prefix/bin/atoll serve --config /etc/atoll/atoll.host.json --data $data|" \
    -e "s|^User=.*|User=$user|" \
    -e "s|^Group=.*|Group=$(group_of_user)|" \
    -e "s|^WorkingDirectory=.*|WorkingDirectory=$data|" \
    -e "s|^Documentation=.*|Documentation=file://$prefix/share/doc/atoll/install.md|" \
    "$here/atoll.service" |
    if [ -n "$state" ]; then
      sed -e "s|^StateDirectory=.*|StateDirectory=$state|"
    else
      sed -e "s|^StateDirectory=.*|ReadWritePaths=$data|" -e '/^StateDirectoryMode=/d'
    fi
}

put_unit() {
  run install -d -m 755 "$root/etc/systemd/system"
  if [ "$dry_run" = yes ]; then
    say "would write: $unit"
    return
  fi
  unit_text >"$unit.new"
  chmod 644 "$unit.new"
  mv -f "$unit.new" "$unit"
}

put_documentation() {
  if [ ! -f "$here/../docs/install.md" ]; then return; fi
  run install -d -m 755 "$root$prefix/share/doc/atoll"
  run install -m 644 "$here/../docs/install.md" "$root$prefix/share/doc/atoll/install.md"
}

install_all() {
  find_binary
  put_binary
  if [ "$service" = no ]; then
    say "atoll is $program"
    return
  fi
  ensure_user
  put_data_directory
  put_config
  put_documentation
  put_unit
  if [ "$systemd" = yes ]; then
    run systemctl daemon-reload
    if [ "$start" = yes ]; then
      run systemctl enable atoll.service
      run systemctl restart atoll.service
    fi
  fi
  say "atoll is $program, its configuration $config, its data $root$data"
  if [ "$systemd" = no ]; then
    say "the unit is $unit; systemd was not told"
  elif [ "$start" = no ]; then
    say "start it with: systemctl enable --now atoll.service"
  fi
}

remove() {
  if [ -e "$1" ]; then run rm -f "$1"; fi
}

# Nothing but a data directory of Atoll is ever removed with all that is in it.
check_purge() {
  if [ "$purge" = no ] || [ ! -d "$root$data" ] || [ -e "$root$data/control.sqlite" ]; then return; fi
  [ -z "$(ls -A "$root$data")" ] || die "$root$data is no data directory of Atoll; remove it yourself if you mean it"
}

uninstall_all() {
  check_purge
  if [ "$service" = yes ]; then
    if [ "$systemd" = yes ] && [ -e "$unit" ]; then run systemctl disable --now atoll.service; fi
    remove "$unit"
    if [ "$systemd" = yes ]; then run systemctl daemon-reload; fi
    remove "$root$prefix/share/doc/atoll/install.md"
    if [ -d "$root$prefix/share/doc/atoll" ]; then run rmdir "$root$prefix/share/doc/atoll"; fi
  fi
  remove "$program"
  if [ "$service" = no ]; then return; fi
  if [ "$purge" = no ]; then
    say "$root$data and $root/etc/atoll stay; --purge removes them"
    return
  fi
  run rm -rf "$root$data" "$root/etc/atoll"
  if [ -z "$root" ] && id -u "$user" >/dev/null 2>&1; then
    if command -v userdel >/dev/null 2>&1; then run userdel "$user"; else run deluser "$user"; fi
  fi
}

"${action}_all"

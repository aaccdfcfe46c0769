"""A Celery app whose worker is killed (`npm run judge -- celery FOLDER [TASKS] [KILLS]`).

It sends tasks through the SQS transport, kills the worker with all its processes while they run, and starts it again.
It ends with 0 if each task has run.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from celery import Celery

LOG = os.environ.setdefault('CELERY_KILLS_LOG', os.path.join(tempfile.mkdtemp(), 'done'))
MOST_SECONDS = 1800

app = Celery('celery_kills', broker=f"sqs://{os.environ['TOCK_KEY']}:any@{os.environ['TOCK_HOST']}//")
app.conf.update(
    broker_transport_options={
        'is_secure': False,
        'region': 'us-east-1',
        'visibility_timeout': 20,
        'wait_time_seconds': 5,
        'polling_interval': 0.1,
    },
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_ignore_result=True,
    worker_enable_remote_control=False,
    worker_send_task_events=False,
)


@app.task
def work(number):
    log = os.open(LOG, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(log, b'%d\n' % number)
    os.close(log)


def runs():
    if not os.path.exists(LOG):
        return []
    with open(LOG) as log:
        return log.read().split()


def start_worker():
    command = [sys.executable, '-m', 'celery', '-A', 'celery_kills', 'worker', '-c', '2', '-l', 'ERROR']
    quiet = ['--without-gossip', '--without-mingle', '--without-heartbeat']
    here = os.path.dirname(os.path.abspath(__file__))
    return subprocess.Popen(command + quiet, start_new_session=True, cwd=here)


def main(tasks, kills):
    def send():
        for number in range(tasks):
            work.apply_async((number,))

    started = time.time()
    sender = threading.Thread(target=send)
    sender.start()
    worker = start_worker()
    killed = 0
    while len(set(runs())) < tasks and time.time() - started < MOST_SECONDS:
        time.sleep(0.2)
        if killed < kills and len(set(runs())) >= (killed + 1) * tasks // (kills + 2):
            os.killpg(worker.pid, signal.SIGKILL)
            worker.wait()
            killed += 1
            worker = start_worker()
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()
    sender.join()
    done = len(set(runs()))
    seconds = round(time.time() - started)
    print(f'{done} of {tasks} tasks done in {len(runs())} runs, {killed} kills, {seconds} s')
    return 0 if done == tasks and killed == kills else 1


if __name__ == '__main__':
    sys.exit(main(*(int(argument) for argument in sys.argv[1:])))
